"""The index tables: what can be rebuilt from the memories at any time, and is never shown to anybody.

They name a memory by its id without a foreign key: the search package writes and erases them, and a database
trigger (SQLite) or the column's own index (PostgreSQL) follows every row, whoever deletes it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from memories.ids import random_key
from memories.models.tenancy import TenantModel

if TYPE_CHECKING:
    _TermsBase = models.Field[Sequence[str], Sequence[str]]
else:
    _TermsBase = models.Field


class TermsField(_TermsBase):
    """A document's terms in the form that the engine indexes; written, never read back.

    SQLite: text, each term as often as it occurs, for FTS5. PostgreSQL: an array of distinct terms, for GIN
    (a tsvector would refuse a document of more than a megabyte).
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return 'text[] COLLATE "C"' if connection.vendor == "postgresql" else "text"

    def get_db_prep_value(
        self, value: Sequence[str], connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> str | list[str]:
        return list(dict.fromkeys(value)) if connection.vendor == "postgresql" else " ".join(value)


class SearchDocument(TenantModel):
    """One memory as the text index knows it; every term begins with the vault's id."""

    memory_id = models.BigIntegerField(primary_key=True, editable=False)
    language = models.CharField(max_length=20)
    length = models.PositiveIntegerField(help_text="in content terms, repetition included")
    repeats = models.JSONField(null=True, help_text="term → how often, for those that occur more than once")
    terms = TermsField(editable=False)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["vault", "length"], name="document_lengths")]

    def __str__(self) -> str:
        return str(self.memory_id)


class VectorChunk(TenantModel):
    """Up to 1,024 vectors of one vault and one model, side by side. `ids` stands before `data`, so that
    finding a memory's chunk does not read the vectors."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    model = models.CharField(max_length=100)
    dimension = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    ids = models.BinaryField(help_text="int64, little-endian")
    norms = models.BinaryField(help_text="int32: each row's sum of squares")
    data = models.BinaryField(help_text="int8, row by row")

    class Meta:
        indexes: ClassVar = [models.Index(fields=["vault", "model"], name="chunk_of_vault")]

    def __str__(self) -> str:
        return f"{self.size} × {self.model}"


class LooseVector(TenantModel):
    """A vector that waits for enough others to make a chunk worth writing."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    memory_id = models.BigIntegerField()
    model = models.CharField(max_length=100)
    dimension = models.PositiveIntegerField()
    norm = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["vault", "model", "dimension", "memory_id"], name="loose_vector_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} × {self.model}"
