"""The admin's site: Django's own, with pages beside its lists, and a front page that counts what waits.

What stands there is told by the apps: each adds its pages and cards in its `admin` module. A page asks for a
permission and is offered only to those who have it; a card answers None where its reader may not look.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, path, reverse

View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One figure of the front page, and where it leads."""

    title: str
    figure: int
    url: str
    says: str = ""
    waits: bool = False  # for a person: shown first, and marked where the figure is not 0


CardFor = Callable[[HttpRequest], Card | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminPage:
    """A page of the admin that is no list and no row."""

    name: str  # of the URL, as in `admin:<name>`
    path: str  # below /admin/, with its last slash
    title: str
    says: str
    view: View
    permission: str  # "app_label.codename"
    listed: bool = True  # on the front page

    @property
    def url(self) -> str:
        return reverse(f"admin:{self.name}")


class CortexAdminSite(AdminSite):
    site_header = "Cortex"
    index_title = "Overview"
    site_url = None  # there is no site beside the API that "View site" could lead to

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.pages: dict[str, AdminPage] = {}
        self.cards: dict[str, CardFor] = {}

    def add_page(self, page: AdminPage) -> None:
        """Add a page; one of the same name is replaced."""
        self.pages[page.name] = page

    def add_card(self, name: str, card: CardFor) -> None:
        """Add a figure to the front page, in the order in which the apps add them."""
        self.cards[name] = card

    def get_urls(self) -> list[URLResolver | URLPattern]:
        own = [
            path(page.path, self.admin_view(_permitted(page)), name=page.name) for page in self.pages.values()
        ]
        return [*own, *super().get_urls()]

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the form; where it would judge no more passwords for a while, say so by the status, too."""
        response = super().login(request, extra_context)
        context = getattr(response, "context_data", None) or {}
        if seconds := getattr(context.get("form"), "retry_after", 0):
            response.status_code = 429
            response["Retry-After"] = str(seconds)
        return response

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        told = [card for look in self.cards.values() if (card := look(request)) is not None]
        offered = [
            page for page in self.pages.values() if page.listed and request.user.has_perm(page.permission)
        ]
        context = {
            "waiting": [card for card in told if card.waits],
            "held": [card for card in told if not card.waits],
            "pages": offered,
        }
        return super().index(request, context | (extra_context or {}))


def _permitted(page: AdminPage) -> View:
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.has_perm(page.permission):
            raise PermissionDenied
        return page.view(request, *args, **kwargs)

    return view


class CortexAdminConfig(AdminConfig):
    default_site = "cortex.adminsite.CortexAdminSite"
