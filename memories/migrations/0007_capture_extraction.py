from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0006_memory_revision")]

    operations = [
        migrations.AddField(
            model_name="capture",
            name="awaits_extraction",
            field=models.BooleanField(
                default=False, editable=False, help_text="a language model has yet to read it"
            ),
        ),
        migrations.AddField(
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
