"""Where this app answers under /v1/."""

from django.urls import URLPattern, path

from memories.views.captures import CaptureListView
from memories.views.conflicts import ConflictListView, ResolveConflictView
from memories.views.decisions import DecisionListView, ProposalListView
from memories.views.entities import EntityListView, EntityView
from memories.views.memories import MemoryBulkView, MemoryListView, MemoryView
from memories.views.reviews import ApproveView, ArchiveView, DeclineView, RedactView, SupersedeView, UndoView
from memories.views.vaults import ExportView, ImportView, StatsView

urlpatterns: list[URLPattern] = [
    path("captures", CaptureListView.as_view(), name="captures"),
    path("memories", MemoryListView.as_view(), name="memories"),
    path("memories/bulk", MemoryBulkView.as_view(), name="memories-bulk"),
    path("memories/<str:ref>", MemoryView.as_view(), name="memory"),
    path("memories/<str:ref>/supersede", SupersedeView.as_view(), name="memory-supersede"),
    path("memories/<str:ref>/approve", ApproveView.as_view(), name="memory-approve"),
    path("memories/<str:ref>/decline", DeclineView.as_view(), name="memory-decline"),
    path("memories/<str:ref>/archive", ArchiveView.as_view(), name="memory-archive"),
    path("memories/<str:ref>/redact", RedactView.as_view(), name="memory-redact"),
    path("memories/<str:ref>/undo", UndoView.as_view(), name="memory-undo"),
    path("proposals", ProposalListView.as_view(), name="proposals"),
    path("decisions", DecisionListView.as_view(), name="decisions"),
    path("conflicts", ConflictListView.as_view(), name="conflicts"),
    path("conflicts/<str:ref>/resolve", ResolveConflictView.as_view(), name="conflict-resolve"),
    path("entities", EntityListView.as_view(), name="entities"),
    path("entities/<str:ref>", EntityView.as_view(), name="entity"),
    path("export", ExportView.as_view(), name="export"),
    path("import", ImportView.as_view(), name="import"),
    path("stats", StatsView.as_view(), name="stats"),
]
