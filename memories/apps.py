from importlib import import_module

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_module("memories.lookups")
        import_module("memories.checks")
