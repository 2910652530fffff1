from django.apps import AppConfig


class ContextpackConfig(AppConfig):
    name = "contextpack"
    verbose_name = "context packs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from contextpack.recording import on_content_withdrawn
        from memories.signals import content_withdrawn

        content_withdrawn.connect(on_content_withdrawn, dispatch_uid="contextpack.pins")
