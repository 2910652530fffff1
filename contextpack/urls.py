"""Where this app answers under /v1/."""

from django.urls import path

from contextpack import views

urlpatterns = [
    path("context", views.ContextView.as_view()),
    path("query", views.QueryView.as_view()),
    path("expand", views.ExpandView.as_view()),
    path("receipts/<str:ref>", views.ReceiptView.as_view()),
    path("receipts/<str:ref>/why-not/<str:memory>", views.WhyNotView.as_view()),
    path("receipts/<str:ref>/replay", views.ReplayView.as_view()),
    path("pins/<str:ref>", views.PinView.as_view()),
    path("tools/call", views.ToolCallView.as_view()),
    path("tools/schema", views.ToolSchemaView.as_view()),
]
