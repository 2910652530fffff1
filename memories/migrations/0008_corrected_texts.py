"""Find a text that was superseded by its hash: each write asks whether what it says was corrected before."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0007_capture_extraction"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["vault", "content_hash"],
                condition=models.Q(superseded_by__isnull=False),
                name="memory_corrected",
            ),
        ),
    ]
