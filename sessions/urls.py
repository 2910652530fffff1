"""Where this app answers under /v1/."""

from django.urls import path

from sessions.views import SessionList, SessionView

urlpatterns = [
    path("sessions", SessionList.as_view(), name="sessions"),
    path("sessions/<path:session_id>", SessionView.as_view(), name="session"),
]
