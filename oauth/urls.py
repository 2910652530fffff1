"""Routes of OAuth, part of the map where CORTEX_OAUTH=1."""

from django.urls import path

from cortex.api.challenges import RESOURCE_METADATA
from cortex.api.methods import looking_only
from oauth import views
from oauth.consenting import authorize

_RESOURCE = RESOURCE_METADATA.lstrip("/")

urlpatterns = [
    path(_RESOURCE, looking_only(views.resource_metadata)),
    path(f"{_RESOURCE}/mcp", looking_only(views.mcp_metadata)),
    path(".well-known/oauth-authorization-server", looking_only(views.server_metadata)),
    path("oauth/authorize", authorize),
    path("oauth/token", views.token),
    path("oauth/revoke", views.revoke),
    path("oauth/register", views.register),
]
