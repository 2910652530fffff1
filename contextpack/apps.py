from django.apps import AppConfig


class ContextpackConfig(AppConfig):
    name = "contextpack"
    verbose_name = "Packs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Models exist only now.
        from contextpack import probing
        from contextpack.finding import find_as_agents_do
        from contextpack.recording import on_content_withdrawn
        from contextpack.servings import served_section
        from contextpack.upkeep import on_vault_swept
        from memories.admin.beside import add_section, search_as_agents_do
        from memories.signals import content_withdrawn, vault_swept

        content_withdrawn.connect(on_content_withdrawn, dispatch_uid="contextpack.pins")
        content_withdrawn.connect(probing.on_content_withdrawn, dispatch_uid="contextpack.probes")
        vault_swept.connect(on_vault_swept, dispatch_uid="contextpack.upkeep")
        add_section("servings", served_section)
        search_as_agents_do(find_as_agents_do)
