"""What every page of a tenant table shares: one vault at a time, read-only rows, nothing loaded per row.

A list's address names its vault (`?vault=`); one that does not is led to the vault looked at last, else to the
default one, so that what is decided in one window never lands in the vault that another window chose. A row's
address names its vault, too (`<vault>.<ref>`), and so each statement behind a page does.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth import get_permission_codename
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import SuspiciousOperation
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from memories.access import DEFAULT_VAULT
from memories.admin.linking import list_url, row_key, row_url
from memories.models import Vault

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

VAULT_PARAMETER: Final = "vault"
_REMEMBERED: Final = "cortex_vault"
_VAULTS_OFFERED: Final = 25


# -- Which vault ---------------------------------------------------------------------------------


def chosen_vault(request: HttpRequest) -> Vault | None:
    """Return the vault whose rows a page shows; None where there is no vault at all.

    Raises: Http404 if the address names an unknown one.
    """
    known = request.__dict__  # looked up once per request
    if _REMEMBERED not in known:
        known[_REMEMBERED] = _named_vault(request) or _usual_vault(request)
    vault: Vault | None = known[_REMEMBERED]
    return vault


def look_at(request: HttpRequest, vault: Vault) -> None:
    """Make this the vault of the request, and the one that lists without a vault show next."""
    request.__dict__[_REMEMBERED] = vault
    if request.session.get(_REMEMBERED) != vault.pk:
        request.session[_REMEMBERED] = vault.pk


def _named_vault(request: HttpRequest) -> Vault | None:
    named = request.GET.get(VAULT_PARAMETER)
    if named is None:
        return None
    vault = Vault.objects.filter(pk=named).first()
    if vault is None:
        raise Http404
    look_at(request, vault)
    return vault


def _usual_vault(request: HttpRequest) -> Vault | None:
    remembered = Vault.objects.filter(pk=request.session.get(_REMEMBERED, "")).first()
    return (
        remembered
        or Vault.objects.filter(slug=DEFAULT_VAULT).first()
        or Vault.objects.order_by("slug").first()
    )


class VaultFilter(admin.SimpleListFilter):
    """Offers other vaults; one is always chosen."""

    title = "vault"
    parameter_name = VAULT_PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = chosen_vault(request)
        self.chosen = "" if chosen is None else chosen.pk
        offered = list(Vault.objects.order_by("slug")[: _VAULTS_OFFERED + 1])
        self.has_more = len(offered) > _VAULTS_OFFERED
        shown = {vault.pk: vault for vault in offered[:_VAULTS_OFFERED]}
        if chosen is not None:
            shown.setdefault(chosen.pk, chosen)
        return [(pk, str(vault)) for pk, vault in shown.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset  # it begins in the chosen vault

    def choices(self, changelist: Any) -> Iterator[Any]:
        for pk, name in self.lookup_choices:
            yield {
                "selected": pk == self.chosen,
                "query_string": changelist.get_query_string({VAULT_PARAMETER: pk}),
                "display": name,
            }
        if self.has_more:
            more = reverse("admin:memories_vault_changelist")
            yield {"selected": False, "query_string": more, "display": "all vaults…"}


# -- Lists and pages -----------------------------------------------------------------------------


class VaultChangeList(ChangeList):
    """A list of one vault's rows, whose companions are loaded for a page at once."""

    model_admin: "VaultScopedAdmin"

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self.title = str(self.opts.verbose_name_plural).capitalize()
        vault = chosen_vault(request)
        if vault is not None:
            self.title += f" in {vault}"
            filters = list(self.get_filters_params())
            self.has_active_filters = filters != [VAULT_PARAMETER]
            self.clear_all_filters_qs = self.get_query_string({VAULT_PARAMETER: vault.pk}, filters)

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows = list(self.result_list)
        vault = chosen_vault(request)
        if rows and vault is not None:
            self.model_admin.load_companions(vault, rows)
        self.result_list = rows

    def url_for_result(self, result: Any) -> str:
        return self.model_admin.url_of(result)


class VaultScopedAdmin(_ModelAdmin):
    """A table of one vault to look at; what changes it are decisions, which call the writing verbs."""

    key_field: ClassVar[str] = "ref"
    change_form_template: ClassVar[Any] = "admin/vault_row.html"
    change_list_template: ClassVar[Any] = "admin/vault_list.html"
    search_says: ClassVar[str] = ""  # what may be typed into the field
    list_filter: ClassVar[Any] = (VaultFilter,)
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    # -- Hooks -----------------------------------------------------------------------------------

    def load_companions(self, vault: Vault, rows: Sequence[Any]) -> None:
        """Set on the rows of a page what its columns show beside them, in a fixed number of statements."""

    def sections(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the page of a row shows beside its fields."""
        return {}

    def is_open_to(self, decision: str, row: Any) -> bool:
        """Whether a decision (an action's name) still makes a difference to a row."""
        return True

    # -- One vault at a time ---------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model._default_manager.all()
        vault = chosen_vault(request)
        return rows.none() if vault is None else rows.filter(vault_id=vault.pk)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        may_look = self.has_view_permission(request)
        vault = chosen_vault(request) if may_look and VAULT_PARAMETER not in request.GET else None
        if vault is None:
            return super().changelist_view(request, extra_context)
        query = request.GET.copy()
        query[VAULT_PARAMETER] = vault.pk
        return HttpResponseRedirect(f"{request.path}?{query.urlencode()}")

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        if not all(key.isdecimal() for key in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            raise SuspiciousOperation("a row is named by its number")
        return super().response_action(request, queryset, *args, **kwargs)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return VaultChangeList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Find a row by `<vault>.<key>`."""
        vault_id, _, key = object_id.partition(".")
        vault = Vault.objects.filter(pk=vault_id).first()
        if vault is None or not key or (self.key_field == "pk" and not key.isdecimal()):
            return None
        look_at(request, vault)
        row = self.model._default_manager.filter(vault_id=vault.pk, **{self.key_field: key}).first()
        if row is not None:
            row.vault = vault
        return row

    def key_of(self, row: Any) -> str:
        return row_key(row.vault_id, getattr(row, self.key_field))

    def url_of(self, row: Any) -> str:
        return row_url(self.model, row.vault_id, getattr(row, self.key_field))

    # -- Nothing is edited -----------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) or self.has_decide_permission(request)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Who might change a row in another admin decides about it in this one."""
        codename = get_permission_codename("change", self.opts)
        return bool(request.user.has_perm(f"{self.opts.app_label}.{codename}"))

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
            offered = self.get_action_choices(request, [])
            context |= {
                "row_key": self.key_of(obj),
                "decide_url": list_url(self.model, obj.vault_id),
                "decisions": [(name, text) for name, text in offered if self.is_open_to(name, obj)],
                **self.sections(request, obj),
            }
        return super().render_change_form(request, context, add, change, form_url, obj)

    # -- The admin's own log ---------------------------------------------------------------------

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry:
        entry = self.log_entry(request, key=self.key_of(obj), name=str(obj), flag=ADDITION, message="Added.")
        entry.save()
        return entry

    def log_entry(self, request: HttpRequest, *, key: str, name: str, flag: int, message: str) -> LogEntry:
        """Draft a line of the log: who did what to which row; no text of a memory."""
        return LogEntry(
            user_id=_person(request),
            content_type_id=ContentType.objects.get_for_model(self.model).pk,
            object_id=key,
            object_repr=name[:200],
            action_flag=flag,
            change_message=message,
        )


def _person(request: HttpRequest) -> int:
    """Return who is logged in; nobody else reaches a page of the admin."""
    person = request.user.pk
    assert person is not None
    return person
