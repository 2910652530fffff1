from django.apps import AppConfig


class SessionsConfig(AppConfig):
    """Labelled apart from django.contrib.sessions, which already holds the short name."""

    name = "sessions"
    label = "memory_sessions"
    default_auto_field = "django.db.models.BigAutoField"
