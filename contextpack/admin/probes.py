"""Saved probes: written here, run from the overview or by `manage.py probe`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from contextpack.core.profiles import CONTEXT_MIN_TOKEN_BUDGET, PROFILES
from contextpack.models import Probe
from contextpack.probing import Outcome, change_probe, remove_probe, run_probe
from contextpack.serializers import TASK_LIMIT
from memories.admin.deciding import confirmation, decide
from memories.admin.scoping import VaultFilter, VaultScopedAdmin, chosen_vault
from memories.core.secrets import mask_secrets
from memories.models import Memory, Vault

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Probe]
else:
    _ModelForm = forms.ModelForm

REFS_LIMIT: Final = 50
RUN: Final = "run"
_TASK_SHOWN: Final = 120


class RefsField(forms.CharField):
    """Refs of memories, one on each line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 4}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        return list(dict.fromkeys((super().to_python(value) or "").split()))

    def validate(self, value: Any) -> None:
        if len(value) > REFS_LIMIT:
            raise ValidationError(f"At most {REFS_LIMIT} refs.")


class ProbeForm(_ModelForm):
    task = forms.CharField(
        max_length=TASK_LIMIT,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="the question, as an agent asks it",
    )
    token_budget = forms.IntegerField(
        required=False,
        min_value=CONTEXT_MIN_TOKEN_BUDGET,
        max_value=max(profile.pack_token_budget for profile in PROFILES.values()),
        help_text="empty: what is usual for the model",
    )
    must = RefsField(label="Must appear", help_text="refs of memories, one on each line")
    must_not = RefsField(label="Must not appear", help_text="refs of memories, one on each line")

    class Meta:
        model = Probe
        fields = ("vault", "name", "task", "model", "token_budget", "project", "must", "must_not")

    def clean_task(self) -> str:
        return mask_secrets(self.cleaned_data["task"])[0]

    def clean(self) -> dict[str, Any]:
        told = super().clean() or self.cleaned_data
        vault = told.get("vault") or (self.instance.vault if self.instance.vault_id else None)
        must, must_not = told.get("must") or [], told.get("must_not") or []
        if not must and not must_not:
            self.add_error("must", "Name at least one memory that must, or must not, appear.")
        if both := sorted(set(must) & set(must_not)):
            self.add_error("must_not", f"These must appear, too: {', '.join(both)}.")
        if vault is not None:
            for name, refs in (("must", must), ("must_not", must_not)):
                if unknown := _unknown(vault, refs):
                    self.add_error(name, f"Not in {vault}: {', '.join(unknown)}.")
        return told


def _unknown(vault: Vault, refs: Sequence[str]) -> list[str]:
    rows = Memory.objects.in_vault(vault.pk).filter(ref__among=refs, redacted_at__isnull=True)
    known = set(rows.values_list("ref", flat=True)) if refs else set()
    return [ref for ref in refs if ref not in known]


@admin.register(Probe)
class ProbeAdmin(VaultScopedAdmin):
    form = ProbeForm
    add_form_template = "admin/contextpack/probe/change_form.html"
    change_form_template = "admin/contextpack/probe/change_form.html"
    actions = ("remove",)
    list_display = ("name", "asked", "model", "token_budget", "must_count", "must_not_count")
    list_filter = (VaultFilter,)
    search_fields = ("name", "task", "=ref")
    ordering = ("name", "pk")

    @admin.display(description="task")
    def asked(self, probe: Probe) -> str:
        task = " ".join(probe.task.split())
        return f"{task[:_TASK_SHOWN]}…" if len(task) > _TASK_SHOWN else task

    @admin.display(description="must appear")
    def must_count(self, probe: Probe) -> int:
        return len(probe.must)

    @admin.display(description="must not appear")
    def must_not_count(self, probe: Probe) -> int:
        return len(probe.must_not)

    # -- Who may -----------------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("contextpack.add_probe"))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("contextpack.change_probe"))

    def has_remove_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("contextpack.delete_probe"))

    # -- The form ----------------------------------------------------------------------------------

    def get_fields(self, request: HttpRequest, obj: Probe | None = None) -> Any:
        own = ProbeForm.Meta.fields
        return own if obj is None else own[1:]  # a probe stays in its vault

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if "vault" in form.base_fields:
            form.base_fields["vault"].widget = forms.HiddenInput()
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        vault = chosen_vault(request)
        named = {name: request.GET[name] for name in ("task", "model", "must") if name in request.GET}
        return named | ({} if vault is None else {"vault": vault.pk})

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        vault = chosen_vault(request)
        if kwargs.get("obj") is None and vault is not None:
            context["title"] = f"Add probe to {vault}"
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Probe, form: Any, change: bool) -> None:
        if change:
            change_probe(obj)
        else:
            obj.save(force_insert=True)

    def sections(self, request: HttpRequest, row: Probe) -> dict[str, Any]:
        return {"outcome": run_probe(row.vault, row, now=timezone.now()) if RUN in request.GET else None}

    def response_add(self, request: HttpRequest, obj: Probe, *_: Any) -> HttpResponse:
        return self._saved(request, obj)

    def response_change(self, request: HttpRequest, obj: Probe) -> HttpResponse:
        return self._saved(request, obj)

    def _saved(self, request: HttpRequest, obj: Probe) -> HttpResponse:
        """Lead to the probe's page, where it is run: the first thing that one wants to know."""
        self.message_user(request, "Saved.", messages.SUCCESS)
        return HttpResponseRedirect(f"{self.url_of(obj)}?{RUN}=1")

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry:
        entry = self.log_entry(request, key=self.key_of(obj), name=str(obj), flag=CHANGE, message="Changed.")
        entry.save()
        return entry

    @admin.action(description="Remove…", permissions=["remove"])
    def remove(self, request: HttpRequest, probes: QuerySet[Probe]) -> HttpResponse | None:
        question = confirmation(
            self,
            request,
            probes,
            action="remove",
            title="Remove these probes?",
            warning="Nobody asks their questions any more. The memories stay.",
        )
        if question is not None:
            return question
        decide(self, request, probes, lambda _, probe: remove_probe(probe), did="removed", flag=DELETION)
        return None


def run_all(vault: Vault, *, most: int) -> list[Outcome]:
    """Run a vault's probes, by name."""
    rows = Probe.objects.filter(vault_id=vault.pk).order_by("name", "pk")[:most]
    return [run_probe(vault, probe, now=timezone.now()) for probe in rows]
