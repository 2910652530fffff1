from django.apps import AppConfig


class OAuthConfig(AppConfig):
    """Installed where CORTEX_OAUTH=1 only: elsewhere there are no tables, no routes and no discovery."""

    name = "oauth"
    verbose_name = "OAuth"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Models exist only now.
        from memories.signals import server_swept, vault_swept
        from oauth.upkeep import on_server_swept, on_vault_swept

        vault_swept.connect(on_vault_swept, dispatch_uid="oauth.consents")
        server_swept.connect(on_server_swept, dispatch_uid="oauth.clients")
