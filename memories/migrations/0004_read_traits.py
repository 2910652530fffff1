from collections import defaultdict
from itertools import islice

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from memories.core.traits import traits_of

BATCH = 500


def read_traits(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Fill the traits of memories that were written before there were any."""
    memories = apps.get_model("memories", "Memory").objects
    for vault_id in list(apps.get_model("memories", "Vault").objects.values_list("pk", flat=True)):
        rows = memories.filter(vault_id=vault_id).order_by("pk").values_list("pk", "content")
        contents = rows.iterator(chunk_size=BATCH)
        while batch := list(islice(contents, BATCH)):
            alike = defaultdict(list)
            for pk, content in batch:
                alike[int(traits_of(content))].append(pk)
            for traits, pks in alike.items():
                if traits:
                    memories.filter(vault_id=vault_id, pk__in=pks).update(traits=traits)


class Migration(migrations.Migration):
    dependencies = [("memories", "0003_memory_traits")]

    operations = [migrations.RunPython(read_traits, migrations.RunPython.noop)]
