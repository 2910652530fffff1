"""Where this app answers under /v1/."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
