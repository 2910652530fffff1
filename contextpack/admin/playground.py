"""The playground: ask in any token's place, as any model, at any moment, and see what would be answered and why.

It asks by the functions that answer agents, and only reads: no receipt, no step of a session, no use of a token. The
form is sent by GET, so that a question can be passed on as a link.
"""

from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from contextpack.admin.trials import Asker, asker_for, columns_of, reasons_for, rows_of, state_of
from contextpack.answering import Trial, try_context
from contextpack.core.profiles import CONTEXT_MIN_TOKEN_BUDGET, PROFILES
from contextpack.core.types import PackFormat
from contextpack.serializers import TASK_LIMIT, ContextRequestSerializer, context_request
from cortex.adminsite import AdminPage
from cortex.errors import CortexError
from memories.admin.front import site
from memories.admin.scoping import VAULT_PARAMETER, chosen_vault
from memories.models import AccessToken, Vault

TOKENS_OFFERED: Final = 100
NAME: Final = "playground"
_MOMENT: Final = "%Y-%m-%dT%H:%M"
_MODELS: Final = ("claude", "gpt-4o", "cursor", "generic")
_FORMATS: Final = (
    (PackFormat.MARKDOWN.value, "markdown, for a prompt"),
    (PackFormat.SMP.value, "smp, the envelope"),
    (PackFormat.JSON.value, "json, rows by layer"),
)


def _moment_field(label: str, help_text: str) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MOMENT)
    return forms.DateTimeField(label=label, required=False, help_text=help_text, widget=widget)


class QuestionForm(forms.Form):
    """A question and who asks it; reading it is left to what reads the requests of agents."""

    task = forms.CharField(
        max_length=TASK_LIMIT, widget=forms.Textarea(attrs={"rows": 3, "data-key": "/"}), label="Task"
    )
    token = forms.ChoiceField(required=False, label="In whose place")
    model = forms.CharField(
        required=False, max_length=200, label="Model", widget=forms.TextInput(attrs={"list": "models"})
    )
    beside = forms.CharField(
        required=False, max_length=200, label="Beside", widget=forms.TextInput(attrs={"list": "models"})
    )
    token_budget = forms.IntegerField(
        required=False,
        label="Budget",
        min_value=CONTEXT_MIN_TOKEN_BUDGET,
        max_value=max(profile.pack_token_budget for profile in PROFILES.values()),
    )
    as_of = _moment_field("True as of", "UTC; empty: now")
    known_at = _moment_field("Known at", "UTC; empty: now")
    project = forms.CharField(
        required=False, max_length=100, label="Project", help_text="empty: all that the token reaches"
    )
    format = forms.ChoiceField(choices=_FORMATS, required=False, label="Format")
    ref = forms.CharField(required=False, max_length=40, label="Why not this memory?")

    def __init__(self, data: Any, *, tokens: list[AccessToken], initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial, label_suffix="")
        self.fields["token"].choices = [  # type: ignore[attr-defined] # a ChoiceField has them
            ("", "the operator (everything)"),
            *((str(token.pk), _offered(token)) for token in tokens),
        ]

    def asked(self) -> dict[str, Any]:
        """Return the question as an agent would send it."""
        told = self.cleaned_data
        moments = {name: told[name].isoformat() for name in ("as_of", "known_at") if told[name]}
        named = {name: told[name] for name in ("token_budget", "project") if told[name]}
        return {"task": told["task"], "format": told["format"] or _FORMATS[0][0], **named, **moments}

    def models(self) -> list[str]:
        """Return the one or two models that are asked for; nobody named is one, too."""
        told = self.cleaned_data
        return list(dict.fromkeys([told["model"], *([told["beside"]] if told["beside"] else [])]))


def _offered(token: AccessToken) -> str:
    closed = state_of(token, now=timezone.now())
    return f"{token} – {closed}" if closed else str(token)


def playground(request: HttpRequest) -> HttpResponse:
    vault = chosen_vault(request)
    tokens = _tokens(request, vault)
    form = QuestionForm(
        request.GET if "task" in request.GET else None, tokens=tokens, initial=_initial(request)
    )
    asker = None if vault is None else asker_for(vault, _chosen(request, tokens), now=timezone.now())
    told = _answered(form, asker) if asker is not None and form.is_bound and form.is_valid() else {}
    context = {
        **site().each_context(request),
        "title": "Playground",
        "vault": vault,
        "vault_parameter": VAULT_PARAMETER,
        "form": form,
        "models": _MODELS,
        "asker": asker,
        **told,
    }
    return TemplateResponse(request, "admin/contextpack/playground.html", context)


def _initial(request: HttpRequest) -> dict[str, Any]:
    return {"model": "claude", "format": PackFormat.MARKDOWN.value, "token": request.GET.get("token", "")}


def _tokens(request: HttpRequest, vault: Vault | None) -> list[AccessToken]:
    """Return the tokens of a vault, the newest first; none to whom may not look at tokens."""
    if vault is None or not request.user.has_perm("memories.view_accesstoken"):
        return []
    rows = AccessToken.objects.filter(vault_id=vault.pk).order_by("-created_at", "pk")
    return list(rows[:TOKENS_OFFERED])


def _chosen(request: HttpRequest, tokens: list[AccessToken]) -> AccessToken | None:
    named = request.GET.get("token", "")
    return next((token for token in tokens if str(token.pk) == named), None)


def _answered(form: QuestionForm, asker: Asker) -> dict[str, Any]:
    """Ask once for each model, and lay the answers beside each other; what refuses is told at the form."""
    now = timezone.now()
    trials: dict[str, Trial] = {}
    for model in form.models():
        asked = ContextRequestSerializer(data=form.asked() | ({"model": model} if model else {}))
        if not asked.is_valid():
            for name, errors in asked.errors.items():
                form.add_error(name if name in form.fields else None, [str(error) for error in errors])
            return {}
        try:
            question = context_request(asker.caller, asked.validated_data, now=now)
            trials[model or "nobody named"] = try_context(asker.caller, question)
        except CortexError as refusal:
            form.add_error(None, refusal.detail)
            return {}
    ref = form.cleaned_data["ref"].strip()
    return {
        "columns": columns_of(asker.caller.vault, trials),
        "rows": rows_of(trials),
        "reasons": reasons_for(asker, trials, ref, now=now) if ref else None,
        "is_pair": len(trials) > 1,
    }


PAGE: Final = AdminPage(
    name=NAME,
    path="playground/",
    title="Playground",
    says="Ask as an agent would, in any token's place, and see why the answer is what it is. Nothing is recorded.",
    view=playground,
    permission="memories.view_memory",
)
