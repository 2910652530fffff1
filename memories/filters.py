"""The filters of the list of memories: each only ever removes rows."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import django_filters

from memories.access import Caller
from memories.core.text import content_terms, terms
from memories.models import Memory
from memories.querysets import MemoryQuerySet
from memories.search import fulltext

MATCHES_LIMIT: Final = 100_000


class MemoryFilter(django_filters.FilterSet):
    """Takes values as the list's serializer read them: typed, known, none of them empty but `project`."""

    status = django_filters.Filter()
    layer = django_filters.Filter()
    kind = django_filters.Filter()
    thread = django_filters.Filter()
    author = django_filters.Filter()
    tag = django_filters.Filter(method="keep_tagged")
    entity = django_filters.Filter(method="keep_mentioning")
    q = django_filters.Filter(method="keep_matching")
    active = django_filters.Filter(method="keep_active")
    occurred_after = django_filters.Filter(field_name="occurred_at", lookup_expr="gte")
    occurred_before = django_filters.Filter(field_name="occurred_at", lookup_expr="lt")
    captured_after = django_filters.Filter(field_name="captured_at", lookup_expr="gte")
    captured_before = django_filters.Filter(field_name="captured_at", lookup_expr="lt")

    class Meta:
        model = Memory
        fields: tuple[str, ...] = ()

    def __init__(
        self, values: Mapping[str, Any], *, queryset: MemoryQuerySet, caller: Caller, now: datetime
    ) -> None:
        super().__init__(data=dict(values), queryset=queryset)
        self.caller = caller
        self.now = now

    def filter_queryset(self, queryset: Any) -> Any:
        # An empty label is one to narrow by, where django-filter would take it for no filter at all.
        if "project" in self.data:
            queryset = queryset.filter(project=self.data["project"])
        return super().filter_queryset(queryset)

    def keep_tagged(self, rows: MemoryQuerySet, _: str, tag: str) -> MemoryQuerySet:
        return rows.tagged(tag)

    def keep_mentioning(self, rows: MemoryQuerySet, _: str, name: str) -> MemoryQuerySet:
        return rows.mentioning(self.caller.vault.pk, [name])

    def keep_matching(self, rows: MemoryQuerySet, _: str, text: str) -> MemoryQuerySet:
        """Rows that have every word of a text; a text without a word matches none.

        Small words are in no index: a text of nothing else is looked for as it stands.
        """
        vault = self.caller.vault
        if not content_terms(text, vault.language):
            return (
                rows.filter(content__icontains=text.strip()) if terms(text, vault.language) else rows.none()
            )
        hits = fulltext.lookup(text, vault_id=vault.pk, language=vault.language, limit=MATCHES_LIMIT)
        return rows.filter(pk__among=[hit.memory_id for hit in hits if hit.coverage >= 1])

    def keep_active(self, rows: MemoryQuerySet, _: str, wanted: bool) -> MemoryQuerySet:
        active = Memory.objects.visible_to(self.caller).servable(self.now)
        keys = active.current_as_of(self.now, known_at=self.now).values("pk")
        return rows.filter(pk__in=keys) if wanted else rows.exclude(pk__in=keys)
