"""The map of URLs."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from contextpack.mcp import McpView
from cortex import health
from cortex.api.methods import looking_only
from cortex.metrics import MetricsView
from memories.pages import memory_page

SCHEMA_FORMS = (OpenApiJsonRenderer2, OpenApiJsonRenderer, OpenApiYamlRenderer2, OpenApiYamlRenderer)

urlpatterns = [
    path("", looking_only(RedirectView.as_view(url="/docs", permanent=False))),
    path("healthz", looking_only(health.healthz)),
    path("readyz", looking_only(health.readyz)),
    path("metrics", MetricsView.as_view()),
    path("docs", looking_only(SpectacularSwaggerSplitView.as_view(url_name="schema")), name="docs"),
    path("v1/schema", looking_only(SpectacularAPIView.as_view(renderer_classes=SCHEMA_FORMS)), name="schema"),
    path("v1/", include("memories.urls")),
    path("v1/", include("sessions.urls")),
    path("v1/", include("contextpack.urls")),
    path("mcp", McpView.as_view()),
    *([path("", include("oauth.urls"))] if settings.CORTEX_OAUTH else []),
    path("m/<str:ref>", looking_only(memory_page), name="memory"),
    path("admin", looking_only(RedirectView.as_view(url="/admin/", permanent=False))),
    path("admin/", admin.site.urls),
]

handler400 = "cortex.api.problems.bad_request"
handler403 = "cortex.api.problems.forbidden"
handler404 = "cortex.api.problems.not_found"
handler500 = "cortex.api.problems.server_error"
