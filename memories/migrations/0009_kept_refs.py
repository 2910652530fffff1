import json
import re

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import memories.ids

BATCH = 500
REF = re.compile(r"mem_[0-9a-z]{12}")


def note_kept_refs(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Note for the decisions that were taken before which memories they name for being taken back."""
    decisions = apps.get_model("memories", "Decision").objects
    kept_ref = apps.get_model("memories", "KeptRef")
    for vault_id in list(apps.get_model("memories", "Vault").objects.values_list("pk", flat=True)):
        rows = decisions.filter(vault_id=vault_id, kept__isnull=False).order_by("pk")
        named = [
            kept_ref(vault_id=vault_id, decision_id=pk, ref=ref)
            for pk, memory, other, kept in rows.values_list("pk", "memory", "other", "kept")
            for ref in sorted({*REF.findall(json.dumps(kept))} - {memory, other})
        ]
        kept_ref.objects.bulk_create(named, batch_size=BATCH)


class Migration(migrations.Migration):
    dependencies = [("memories", "0008_corrected_texts")]

    operations = [
        migrations.CreateModel(
            name="KeptRef",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=memories.ids.random_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("ref", models.CharField(max_length=40)),
                (
                    "decision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.decision",
                    ),
                ),
                (
                    "vault",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.vault",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["vault", "ref"], name="kept_ref_by_ref")],
                "constraints": [
                    models.UniqueConstraint(fields=("vault", "decision", "ref"), name="kept_ref_once")
                ],
            },
        ),
        migrations.RunPython(note_kept_refs, migrations.RunPython.noop),
    ]
