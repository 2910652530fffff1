from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class AddColumn(migrations.AddField):
    """Add a column with a constant default; on SQLite without writing the whole table anew.

    There Django copies the table for every column that may not be null, since it could not drop the column's default
    afterwards. It stays here: nothing relies on it, and where the table was copied it is not missed.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        if schema_editor.connection.vendor != "sqlite" or not self.allow_migrate_model(
            schema_editor.connection.alias, model
        ):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        known = model._meta.get_field(self.name)
        column = known.clone()
        column.db_default = models.Value(column.default)
        column.set_attributes_from_name(self.name)
        column.model = model
        BaseDatabaseSchemaEditor.add_field(
            schema_editor, from_state.apps.get_model(app_label, self.model_name), column
        )


class Migration(migrations.Migration):
    dependencies = [("memories", "0006_memory_revision")]

    operations = [
        AddColumn(
            model_name="capture",
            name="awaits_extraction",
            field=models.BooleanField(
                default=False, editable=False, help_text="a language model has yet to read it"
            ),
        ),
        AddColumn(
            model_name="capture",
            name="extraction_tries",
            field=models.PositiveSmallIntegerField(default=0, editable=False),
        ),
        migrations.AddIndex(
            model_name="capture",
            index=models.Index(
                condition=models.Q(("awaits_extraction", True)),
                fields=["vault", "id"],
                name="capture_to_extract",
            ),
        ),
    ]
