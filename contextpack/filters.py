"""The knobs of a query: each a filter that only ever removes rows, all of them one FilterSet."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import django_filters
from django.db.models import Q

from contextpack.core.mql import Mql
from memories.core.kinds import AUTHOR_TRUST
from memories.models import Memory
from memories.querysets import MemoryQuerySet

ROW_KNOBS: Final = ("project", "layers", "entities", "as_of", "known_at", "valid_only", "min_trust")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """The two moments at which a query judges what is valid."""

    as_of: datetime
    known_at: datetime


class MqlFilter(django_filters.FilterSet):
    """Narrows memories by the values of a parsed query.

    The filters take values as `parse_mql` made them, typed and in range; what is malformed was refused there.
    """

    project = django_filters.Filter(method="keep_project")
    layers = django_filters.Filter(method="keep_layers")
    entities = django_filters.Filter(method="keep_entities")
    as_of = django_filters.Filter(method="keep_true")
    known_at = django_filters.Filter(method="keep_known")
    valid_only = django_filters.Filter(method="keep_valid")
    min_trust = django_filters.Filter(method="keep_trusted")

    class Meta:
        model = Memory
        fields: tuple[str, ...] = ()

    def __init__(self, *, queryset: MemoryQuerySet, vault_id: str, moments: Moments) -> None:
        super().__init__(data={}, queryset=queryset)
        self.vault_id = vault_id
        self.moments = moments

    def kept_by(self, knob: str, value: object) -> frozenset[str]:
        """Return the refs that one knob leaves of the queryset; one statement."""
        # By its method itself: a filter leaves out every empty value, and an empty project is a value.
        narrowed: MemoryQuerySet = getattr(self, self.filters[knob].method)(self.queryset, knob, value)
        return frozenset(narrowed.values_list("ref", flat=True))

    def keep_project(self, rows: MemoryQuerySet, _: str, project: str) -> MemoryQuerySet:
        return rows.in_project(project)

    def keep_layers(self, rows: MemoryQuerySet, _: str, layers: Collection[Any]) -> MemoryQuerySet:
        return rows.in_layers(layers)

    def keep_entities(self, rows: MemoryQuerySet, _: str, names: Collection[str]) -> MemoryQuerySet:
        return rows.mentioning(self.vault_id, names)

    def keep_true(self, rows: MemoryQuerySet, _: str, moment: datetime) -> MemoryQuerySet:
        return rows.true_as_of(moment)

    def keep_known(self, rows: MemoryQuerySet, _: str, moment: datetime) -> MemoryQuerySet:
        return rows.known_at(moment)

    def keep_valid(self, rows: MemoryQuerySet, _: str, valid_only: bool) -> MemoryQuerySet:
        if not valid_only:
            return rows
        return rows.current_as_of(self.moments.as_of, known_at=self.moments.known_at)

    def keep_trusted(self, rows: MemoryQuerySet, _: str, least: float) -> MemoryQuerySet:
        trusted = [author for author, trust in AUTHOR_TRUST.items() if trust >= least]
        return rows.filter(Q(confidence__gte=least) | Q(confidence__isnull=True, author__in=trusted))


def turned_knobs(mql: Mql) -> dict[str, object]:
    """Return the knobs of rows that a query turns, in the order in which they are applied."""
    turned = {knob: getattr(mql, knob) for knob in ROW_KNOBS}
    return {knob: value for knob, value in turned.items() if value not in (None, (), False)}
