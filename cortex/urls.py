"""The map of URLs."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("v1/", include("memories.urls")),
    path("v1/", include("sessions.urls")),
    path("v1/", include("contextpack.urls")),
]

handler400 = "cortex.api.problems.bad_request"
handler403 = "cortex.api.problems.forbidden"
handler404 = "cortex.api.problems.not_found"
handler500 = "cortex.api.problems.server_error"
