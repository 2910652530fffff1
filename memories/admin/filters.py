"""The filters of the admin's lists; each begins in the chosen vault and only removes rows."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from memories.admin.scoping import chosen_vault
from memories.models import Capture, Conflict, Entity, Memory, Mention, ProposedSupersession, Vault

_PROJECTS_OFFERED: Final = 50
NO_PROJECT: Final = "-"
BY_AGENTS: Final = "agents"


class _Projects(admin.SimpleListFilter):
    """By exactly one project's label; `-` is no label."""

    title = "project"
    parameter_name = "in_project"

    def rows(self, vault: Vault) -> QuerySet[Any]:
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        vault = chosen_vault(request)
        if vault is None:
            return []
        labels = self.rows(vault).order_by("project").values_list("project", flat=True).distinct()
        names = [(label or NO_PROJECT, label or "none") for label in labels[:_PROJECTS_OFFERED]]
        given = self.value()
        return names if given is None or given in dict(names) else [*names, (given, given)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        label = self.value()
        if label is None:
            return queryset
        return queryset.filter(project="" if label == NO_PROJECT else label)


class ProjectOfMemory(_Projects):
    def rows(self, vault: Vault) -> QuerySet[Any]:
        # These two conditions are those of the index that begins with the project.
        return Memory.objects.in_vault(vault.pk).unsuperseded().filter(redacted_at__isnull=True)


class ProjectOfCapture(_Projects):
    def rows(self, vault: Vault) -> QuerySet[Any]:
        return Capture.objects.filter(vault_id=vault.pk)


# -- Memories ------------------------------------------------------------------------------------


def _conflicted(vault_id: str) -> Q:
    still_open = Conflict.objects.filter(vault_id=vault_id, resolved_at__isnull=True)
    return Q(pk__in=still_open.values("left_id")) | Q(pk__in=still_open.values("right_id"))


def _replacing(vault_id: str) -> Q:
    return Q(pk__in=ProposedSupersession.objects.filter(vault_id=vault_id).values("new_id"))


_STANDINGS: Final[Mapping[str, Callable[[str, datetime], Q]]] = {
    "current": lambda _, now: (
        Q(superseded_by__isnull=True, redacted_at__isnull=True)
        & (Q(expires_at__isnull=True) | Q(expires_at__gt=now))
    ),
    "superseded": lambda *_: Q(superseded_by__isnull=False),
    "withheld": lambda *_: Q(withheld=True),
    "conflict": lambda vault_id, _: _conflicted(vault_id),
    "would replace another": lambda vault_id, _: _replacing(vault_id),
    "redacted": lambda *_: Q(redacted_at__isnull=False),
    "expired": lambda _, now: Q(expires_at__lte=now),
}


class StandingFilter(admin.SimpleListFilter):
    title = "standing"
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in _STANDINGS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        vault, condition = chosen_vault(request), _STANDINGS.get(self.value() or "")
        if vault is None or condition is None:
            return queryset
        return queryset.filter(condition(vault.pk, timezone.now()))


class EntityFilter(admin.SimpleListFilter):
    """By what a memory is about; offered once an entity's page has chosen it."""

    title = "entity"
    parameter_name = "entity"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        vault, ref = chosen_vault(request), self.value()
        if vault is None or ref is None:
            return []
        name = Entity.objects.filter(vault_id=vault.pk, ref=ref).values_list("name", flat=True).first()
        return [(ref, name or "unknown")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        vault, ref = chosen_vault(request), self.value()
        if vault is None or ref is None:
            return queryset
        entity = Entity.objects.filter(vault_id=vault.pk, ref=ref).values("pk")
        mentions = Mention.objects.filter(vault_id=vault.pk, entity_id__in=entity)
        return queryset.filter(pk__in=mentions.values("memory_id"))


class SearchMode(admin.SimpleListFilter):
    """Whether the search is that of agents. It takes no row away itself, and stands above the list."""

    title = "search"
    parameter_name = "by"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(BY_AGENTS, "as agents do")]

    def has_output(self) -> bool:
        return False

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset


def is_by_agents(request: HttpRequest) -> bool:
    return request.GET.get(SearchMode.parameter_name) == BY_AGENTS


MEMORY_FILTERS: Final = (
    SearchMode,
    "status",
    StandingFilter,
    "layer",
    "kind",
    "author",
    ProjectOfMemory,
    EntityFilter,
    "captured_at",
)


# -- Yes and no ----------------------------------------------------------------------------------


class SetOrNot(admin.SimpleListFilter):
    """Whether a moment has come: one parameter, two words for it."""

    column: ClassVar[str]
    words: ClassVar[tuple[str, str]]  # not yet, by now

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(word, word) for word in self.words]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in self.words:
            return queryset
        return queryset.filter(**{f"{self.column}__isnull": self.value() == self.words[0]})
