from django.apps import AppConfig


class ContextpackConfig(AppConfig):
    name = "contextpack"
    default_auto_field = "django.db.models.BigAutoField"
