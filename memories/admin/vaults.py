"""Vaults and the tokens that open them. A token's secret is shown once, in the answer to the form that issued it."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import snowballstemmer
from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from memories.admin.deciding import back, decide
from memories.admin.linking import list_url
from memories.admin.scoping import VaultFilter, VaultScopedAdmin, chosen_vault
from memories.models import AccessToken, Capture, Conflict, Entity, Memory, Scope, Vault
from memories.search.backlog import count_waiting
from memories.templatetags.cortex_ui import age, chip

if TYPE_CHECKING:
    _VaultAdmin = admin.ModelAdmin[Vault]
    _ModelForm = forms.ModelForm[Any]
else:
    _VaultAdmin = admin.ModelAdmin
    _ModelForm = forms.ModelForm

_PROJECT_LENGTH: Final = 100


class VaultForm(_ModelForm):
    language = forms.ChoiceField(
        choices=[(name, name) for name in snowballstemmer.algorithms()],
        initial="english",
        help_text="whose stems words are cut to; it stays as it is once the vault is made",
    )

    class Meta:
        model = Vault
        fields = ("slug", "name", "language")


@admin.register(Vault)
class VaultAdmin(_VaultAdmin):
    """The directory of vaults. What hangs on a vault is deleted by no click here."""

    form = VaultForm
    list_display = ("slug", "name", "language", "created_at")
    search_fields = ("slug", "name", "id")
    ordering = ("slug",)
    list_per_page = 50
    show_full_result_count = False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Vault | None = None) -> Any:
        return (
            ("slug", "name", "language") if obj is None else ("id", "slug", "name", "language", "created_at")
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Vault | None = None) -> Any:
        return () if obj is None else ("id", "slug", "language", "created_at")

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        if obj is not None:
            context |= {"counts": counts_of(obj), "lists": _lists_of(request, obj)}
        return super().render_change_form(request, context, add, change, form_url, obj)


def counts_of(vault: Vault) -> list[tuple[str, int]]:
    """Return how much a vault holds, by class; memories also by status and layer."""
    rows = Memory.objects.in_vault(vault.pk)
    cells = list(rows.values_list("status", "layer").annotate(Count("pk")).order_by("status", "layer"))
    counts = [("memories", sum(count for *_, count in cells))]
    for position, label in enumerate(("status", "layer")):
        values = sorted({cell[position] for cell in cells})
        counts += [(f"{label} {value}", sum(c[2] for c in cells if c[position] == value)) for value in values]
    open_conflicts = Conflict.objects.filter(vault_id=vault.pk, resolved_at__isnull=True)
    return [
        *counts,
        ("captures", Capture.objects.filter(vault_id=vault.pk).count()),
        ("entities", Entity.objects.filter(vault_id=vault.pk).count()),
        ("open conflicts", open_conflicts.count()),
        ("memories that wait for a vector", count_waiting(vault.pk)),
    ]


def _lists_of(request: HttpRequest, vault: Vault) -> list[tuple[str, str]]:
    """Return the vault's lists that the person may look at, whichever app shows them."""
    return [
        (str(model._meta.verbose_name_plural), list_url(model, vault.pk))
        for model, page in admin.site._registry.items()
        if isinstance(page, VaultScopedAdmin) and page.has_view_permission(request)
    ]


# -- Tokens --------------------------------------------------------------------------------------


_OPENS: Final = {
    Scope.READ: "ask, query and read",
    Scope.WRITE: "remember, correct and capture",
    Scope.REVIEW: "approve, archive and redact; its own writes wait for nobody",
    Scope.ADMIN: "everything, forgetting and exports included",
}


class TokenForm(_ModelForm):
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, f"{scope.value}: {opens}") for scope, opens in _OPENS.items()],
        initial=[Scope.READ.value, Scope.WRITE.value],
        widget=forms.CheckboxSelectMultiple,
    )
    projects = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="one per line; empty: not limited to projects",
    )

    class Meta:
        model = AccessToken
        fields = ("vault", "name", "scopes", "projects", "expires_at")

    def clean_projects(self) -> list[str]:
        named = [line.strip() for line in self.cleaned_data["projects"].splitlines()]
        if any(len(name) > _PROJECT_LENGTH for name in named):
            raise ValidationError(f"A project's name has at most {_PROJECT_LENGTH} characters.")
        return list(dict.fromkeys(name for name in named if name))

    def clean_expires_at(self) -> Any:
        until = self.cleaned_data["expires_at"]
        if until is not None and until <= timezone.now():
            raise ValidationError("It would have expired already.")
        return until


OPEN: Final = "open"
REVOKED: Final = "revoked"
EXPIRED: Final = "expired"
_STATES: Final = {OPEN: (OPEN, "good"), REVOKED: (REVOKED, "bad"), EXPIRED: (EXPIRED, "warn")}


def state_of(token: AccessToken, *, now: datetime) -> str:
    """Say whether a token opens anything now, and if not, what closed it."""
    if token.revoked_at is not None:
        return REVOKED
    return OPEN if token.is_valid_at(now) else EXPIRED


class TokenStateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in _STATES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AccessToken]) -> QuerySet[AccessToken]:
        ended = Q(expires_at__lte=timezone.now())
        conditions = {
            OPEN: Q(revoked_at__isnull=True) & ~ended,
            REVOKED: Q(revoked_at__isnull=False),
            EXPIRED: Q(revoked_at__isnull=True) & ended,
        }
        chosen = conditions.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(chosen)


@admin.register(AccessToken)
class AccessTokenAdmin(VaultScopedAdmin):
    """Issue and revoke; nothing else of a token can change."""

    key_field = "pk"
    form = TokenForm
    add_form_template = "admin/memories/accesstoken/add.html"
    actions = ("revoke",)
    list_display = ("name", "state", "opens", "reaches", "last_use", "expires_at")
    list_filter = (VaultFilter, TokenStateFilter)
    search_fields = ("name", "shown")
    ordering = ("-created_at", "pk")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("memories.add_accesstoken"))

    def get_fields(self, request: HttpRequest, obj: AccessToken | None = None) -> Any:
        if obj is None:
            return TokenForm.Meta.fields
        moments = ("created_at", "expires_at", "last_used_at", "revoked_at")
        return ("vault", "name", "shown", "state", "opens", "reaches", *moments)

    def get_readonly_fields(self, request: HttpRequest, obj: AccessToken | None = None) -> Any:
        return () if obj is None else self.get_fields(request, obj)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if "vault" in form.base_fields:
            form.base_fields["vault"].widget = forms.HiddenInput()
            for part, name in zip(
                form.base_fields["expires_at"].widget.widgets, ("date", "time"), strict=True
            ):
                part.attrs["aria-label"] = f"Expires at: {name}"
        return form

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        vault = chosen_vault(request)
        if kwargs.get("obj") is None and vault is not None:
            context["title"] = f"Add access token to {vault}"
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description="state")
    def state(self, token: AccessToken) -> SafeString:
        return chip(*_STATES[state_of(token, now=timezone.now())])

    @admin.display(description="scopes")
    def opens(self, token: AccessToken) -> SafeString:
        return format_html_join(" ", "{}", ((chip(scope),) for scope in token.scopes))

    @admin.display(description="projects", empty_value="all")
    def reaches(self, token: AccessToken) -> str:
        return ", ".join(token.projects) or "all"

    @admin.display(description="last use", ordering="last_used_at")
    def last_use(self, token: AccessToken) -> str:
        if token.last_used_at is None:
            return "never"
        told = age(token.last_used_at)
        return "just now" if told == "now" else f"{told} ago"

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        vault = chosen_vault(request)
        return {} if vault is None else {"vault": vault.pk}

    def save_model(self, request: HttpRequest, obj: AccessToken, form: Any, change: bool) -> None:
        """Issue the token that the form describes; its secret lives as long as this request."""
        told = form.cleaned_data
        token, secret = AccessToken.issue(
            told["vault"],
            name=told["name"],
            scopes=[Scope(scope) for scope in told["scopes"]],
            projects=told["projects"],
            expires_at=told["expires_at"],
        )
        obj.__dict__.update(token.__dict__)
        request.__dict__["cortex_secret"] = secret

    def response_add(self, request: HttpRequest, obj: AccessToken, *_: Any) -> HttpResponse:
        """Show the secret in the answer itself: it is put into no message, login session or log."""
        context = {
            **self.admin_site.each_context(request),
            "title": f"Token for {obj.vault}",
            "token": obj,
            "secret": request.__dict__.pop("cortex_secret"),
            "back": list_url(AccessToken, obj.vault_id),
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/memories/accesstoken/issued.html", context)

    def is_open_to(self, decision: str, row: AccessToken) -> bool:
        return row.revoked_at is None

    @admin.action(description="Revoke", permissions=["decide"])
    def revoke(self, request: HttpRequest, tokens: QuerySet[AccessToken]) -> HttpResponse | None:
        now = timezone.now()
        still_open = tokens.filter(revoked_at__isnull=True)
        decided = decide(self, request, still_open, lambda _, token: token.revoke(at=now), did="revoked")
        return back(self, request, decided.done)
