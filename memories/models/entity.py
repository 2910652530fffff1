"""The people and things that memories name, and all their names."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from memories.ids import new_entity_ref, random_key
from memories.models.memory import Memory
from memories.models.tenancy import TenantModel


class Entity(TenantModel):
    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    ref = models.CharField(max_length=40, default=new_entity_ref, editable=False)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    memories = models.ManyToManyField(Memory, through="Mention", related_name="entities")

    class Meta:
        verbose_name_plural = "entities"
        constraints: ClassVar = [models.UniqueConstraint(fields=["vault", "ref"], name="entity_ref_once")]

    def __str__(self) -> str:
        return self.name


class Alias(TenantModel):
    """A name of an entity in its normal form (`entity_key`); its own name is its first alias."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="aliases", db_constraint=False)
    name = models.CharField(max_length=200)
    key = models.CharField(max_length=200)

    class Meta:
        verbose_name_plural = "aliases"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "key"], name="alias_names_one_entity")
        ]
        indexes: ClassVar = [models.Index(fields=["vault", "entity"], name="alias_of_entity")]

    def __str__(self) -> str:
        return self.name


class Mention(TenantModel):
    """A memory is about an entity."""

    id = models.BigIntegerField(primary_key=True, default=random_key, editable=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="mentions", db_constraint=False)
    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="mentions", db_constraint=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["vault", "memory", "entity"], name="mention_once")
        ]
        indexes: ClassVar = [models.Index(fields=["vault", "entity", "memory"], name="mention_by_entity")]

    def __str__(self) -> str:
        return f"{self.memory_id} ~ {self.entity_id}"
