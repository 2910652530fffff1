import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import memories.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("memories", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="WorkingSession",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=memories.ids.random_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("session_id", models.CharField(help_text="the client's own name for it", max_length=200)),
                (
                    "scope",
                    models.CharField(
                        help_text="digest of the projects that its callers see; * is all", max_length=64
                    ),
                ),
                (
                    "projects",
                    models.JSONField(
                        blank=True, help_text="these projects by name; empty: all of them", null=True
                    ),
                ),
                ("state", models.JSONField(default=dict)),
                ("turn", models.PositiveIntegerField(default=0)),
                ("delta_cursor", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
                "db_table": "session_working_set",
            },
        ),
        migrations.CreateModel(
            name="DeltaRecord",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=memories.ids.random_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("cursor", models.PositiveIntegerField()),
                ("turn", models.PositiveIntegerField()),
                ("request_digest", models.CharField(blank=True, default="", max_length=80)),
                (
                    "payload",
                    models.JSONField(
                        help_text="step: base, before, after; told: new, evicted, superseded, …"
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="deltas",
                        to="memory_sessions.workingsession",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="workingsession",
            index=models.Index(fields=["vault", "created_at", "id"], name="session_by_time"),
        ),
        migrations.AddIndex(
            model_name="workingsession",
            index=models.Index(fields=["vault", "updated_at"], name="session_by_last_use"),
        ),
        migrations.AddConstraint(
            model_name="workingsession",
            constraint=models.UniqueConstraint(
                fields=("vault", "scope", "session_id"), name="session_once_per_scope"
            ),
        ),
        migrations.AddConstraint(
            model_name="deltarecord",
            constraint=models.UniqueConstraint(
                fields=("vault", "session", "cursor"), name="delta_cursor_once"
            ),
        ),
    ]
