"""Three groups for the people who use the admin; each may exactly what its pages ask for, and what the lesser ones may.

Users, groups, and what only the library of OAuth asks for, stay with superusers.
"""

from typing import Any

from django.db import migrations

_VIEWED = {
    "memories": (
        "accesstoken",
        "capture",
        "conflict",
        "decision",
        "entity",
        "memory",
        "tombstone",
        "vault",
    ),
    "memory_sessions": ("workingsession",),
    "contextpack": ("pin", "probe", "receipt"),
}
VIEWER = tuple(f"{app}.view_{model}" for app, models in _VIEWED.items() for model in models)
REVIEWER = (*VIEWER, "memories.change_memory", "memories.change_conflict")
OPERATOR = (
    *REVIEWER,
    "memories.delete_memory",  # forgetting
    "memories.add_accesstoken",
    "memories.change_accesstoken",  # revoking
    "memories.add_vault",
    "memories.change_vault",
    "contextpack.add_probe",
    "contextpack.change_probe",
    "contextpack.delete_probe",
)
ROLES = {"viewer": VIEWER, "reviewer": REVIEWER, "operator": OPERATOR}


def make_roles(apps: Any, schema_editor: Any) -> None:
    groups = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias)
    for name, permissions in ROLES.items():
        group, _ = groups.get_or_create(name=name)
        group.permissions.add(*(_permission(apps, schema_editor, named) for named in permissions))


def _permission(apps: Any, schema_editor: Any, named: str) -> Any:
    """Find a permission, or make it: Django makes them only once all migrations are done, and keeps those that are there."""
    alias = schema_editor.connection.alias
    app, _, codename = named.partition(".")
    action, _, model = codename.partition("_")
    kinds = apps.get_model("contenttypes", "ContentType").objects.using(alias)
    kind, _ = kinds.get_or_create(app_label=app, model=model)
    name = f"Can {action} {apps.get_model(app, model)._meta.verbose_name}"
    permissions = apps.get_model("auth", "Permission").objects.using(alias)
    return permissions.get_or_create(codename=codename, content_type=kind, defaults={"name": name})[0]


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("contextpack", "0003_probe"),
        ("memories", "0007_capture_extraction"),
        ("memory_sessions", "0002_remember_how_far_ended_sessions_came"),
    ]

    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
