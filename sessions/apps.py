from django.apps import AppConfig


class SessionsConfig(AppConfig):
    """Labelled apart from django.contrib.sessions, which already holds the short name."""

    name = "sessions"
    label = "memory_sessions"
    verbose_name = "sessions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from memories.signals import content_withdrawn
        from sessions.stepping import on_content_withdrawn  # models exist only now

        content_withdrawn.connect(on_content_withdrawn, dispatch_uid="sessions.traces")
