"""What every tenant table shares: its vault, named in every constraint and every statement."""

from django.db import models

from memories.models.vault import Vault


class TenantModel(models.Model):
    """A row of one vault. Foreign keys between tenant tables carry no database constraint, so that the
    tables can be spread over machines by vault; the writing verbs keep them true."""

    vault = models.ForeignKey(
        Vault, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )

    class Meta:
        abstract = True
