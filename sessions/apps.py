from django.apps import AppConfig


class SessionsConfig(AppConfig):
    """Labelled apart from django.contrib.sessions, which already holds the short name."""

    name = "sessions"
    label = "memory_sessions"
    verbose_name = "Conversations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Models exist only now.
        from memories.signals import content_withdrawn, vault_swept
        from sessions.stepping import on_content_withdrawn
        from sessions.upkeep import on_vault_swept

        content_withdrawn.connect(on_content_withdrawn, dispatch_uid="sessions.traces")
        vault_swept.connect(on_vault_swept, dispatch_uid="sessions.upkeep")
