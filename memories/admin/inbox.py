"""The review inbox: all that waits for a person, with what it would change, and the decisions beside it.

It decides through the actions of the list of memories, under the same field names, so that what is asked, refused,
logged and told is the same. After a decision the item that took the place has the focus, and an undo is offered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from rest_framework.exceptions import ValidationError

from cortex.adminsite import AdminPage, Card
from memories.access import Caller
from memories.admin.actors import names_of
from memories.admin.deciding import caller_behind, decide
from memories.admin.evidence import MemoryAdmin, by_ref
from memories.admin.front import site
from memories.admin.scoping import VAULT_PARAMETER, chosen_vault
from memories.admin.texts import excerpts_of
from memories.core.kinds import Flag, Status, Verb
from memories.decisions import decisions_visible_to, shown_decisions
from memories.models import Decision, Memory, ProposedSupersession, Vault
from memories.proposals import awaiting_review, shown_proposals
from memories.querysets import MemoryQuerySet
from memories.serializers import ApproveSerializer
from memories.writing.editing import edit

PAGE_NAME: Final = "memories_review"
ROWS_SHOWN: Final = 20
DECISIONS_SHOWN: Final = 8
REPLACED_SHOWN: Final = 5
LONG_TEXT: Final = 1_200  # characters; a longer one scrolls in its place

_AT: Final = "at"  # the item that has the focus
_DECIDED: Final = "decided"  # refs that were decided about just now
_SHOW: Final = "show"
_PAGE: Final = "p"
_KINDS: Final = {"": "All", "pending": "Proposals", "flagged": "Flagged text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A decision that may be taken, its button, and the key that presses it."""

    action: str
    label: str
    key: str
    main: bool = False


APPROVE: Final = Choice(action="approve", label="Approve", key="a", main=True)
EDIT: Final = Choice(action="edit", label="Edit", key="e")
DECLINE: Final = Choice(action="decline", label="Decline", key="d")
ARCHIVE: Final = Choice(action="archive", label="Archive", key="v")
REDACT: Final = Choice(action="redact", label="Redact…", key="r")
IN_BULK: Final = (APPROVE, DECLINE, ARCHIVE, REDACT)
_ACTIONS: Final = frozenset({*(choice.action for choice in IN_BULK), "edit", "undo"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One memory that waits."""

    pk: int
    told: Mapping[str, Any]
    heading: str
    links: Sequence[Mapping[str, Any]]  # who proposed that it replaces what, and why
    choices: Sequence[Choice]
    may_edit: bool
    typed: str  # what the field for other words holds
    rows: int
    is_long: bool
    has_focus: bool


def add_inbox() -> None:
    page = AdminPage(
        name=PAGE_NAME,
        path="memories/review/",
        title="Review inbox",
        says="What waits for a person, with what it would change: approve, edit, decline, undo.",
        view=review,
        permission="memories.view_memory",
    )
    site().add_page(page)
    site().add_card("review", _card)


def inbox_url(vault: Vault, **more: Any) -> str:
    return f"{reverse(f'admin:{PAGE_NAME}')}?{urlencode({VAULT_PARAMETER: vault.pk, **more}, doseq=True)}"


def review(request: HttpRequest) -> HttpResponse:
    """Show what waits in the chosen vault, or decide about it."""
    vault = chosen_vault(request)
    if vault is None:
        return _shown(request, {"title": "Review inbox", "items": []})
    if VAULT_PARAMETER not in request.GET:  # what is decided lands in a vault that the address names
        return HttpResponseRedirect(inbox_url(vault, **request.GET.dict()))
    if request.method == "POST":
        return _decide(request, vault)
    return _inbox(request, vault)


def _card(request: HttpRequest) -> Card | None:
    vault = chosen_vault(request)
    if vault is None or not request.user.has_perm("memories.view_memory"):
        return None
    return Card(
        title="Review inbox",
        figure=awaiting_review(caller_behind(request, vault), at=timezone.now()).count(),
        url=inbox_url(vault),
        says="all that waits, with what it would change",
        waits=True,
    )


def _memories() -> MemoryAdmin:
    page = admin.site._registry[Memory]
    assert isinstance(page, MemoryAdmin)
    return page


# -- Deciding ------------------------------------------------------------------------------------


def _decide(request: HttpRequest, vault: Vault) -> HttpResponse:
    page, action = _memories(), request.POST.get("action", "")
    keys = request.POST.getlist(ACTION_CHECKBOX_NAME)
    if not page.has_decide_permission(request):
        raise PermissionDenied
    if action not in _ACTIONS or not all(map(_is_key, keys)):
        raise SuspiciousOperation("no decision of the inbox, or about what is no row")
    chosen = page.get_queryset(request).filter(pk__in=keys)
    named = list(chosen.values_list("ref", flat=True))
    if not named:
        messages.warning(request, "Nothing was selected.")
        return HttpResponseRedirect(_address(request, vault))
    before, began_at = _refs_from_here(request, vault), timezone.now()
    answer = _edited(request, vault, named[0]) if action == "edit" else _acted(request, action, chosen)
    if answer is not None:
        return answer
    decided = _decided_since(request, vault, named, at=began_at)
    focus = named[0] if action == "undo" else _next_after(before, set(decided)) or named[0]
    return HttpResponseRedirect(_address(request, vault, **{_AT: focus, _DECIDED: decided[:ROWS_SHOWN]}))


def _is_key(text: str) -> bool:
    """Whether a text may be the key of a row: a whole number of 63 bits."""
    return text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 2**63


def _acted(request: HttpRequest, action: str, chosen: QuerySet[Any]) -> HttpResponse | None:
    """Do what the list of memories does under that name; what is asked first is answered."""
    page = _memories()
    offered = page.get_actions(request)[action]
    assert offered is not None
    act: Any = offered[0]
    answer: HttpResponse | None = act(page, request, chosen)
    return answer


def _edited(request: HttpRequest, vault: Vault, ref: str) -> HttpResponse | None:
    """Give one memory other words; where they are refused they are shown again, to be mended."""
    words = request.POST.get("content", "").replace("\r\n", "\n")
    try:
        content = ApproveSerializer.read({"content": words})["content"]
    except ValidationError as refusal:
        messages.error(request, f"{ref} was not edited: {_first_of(refusal)}")
        return _inbox(request, vault, at=ref, typed=words)
    row = Memory.objects.in_vault(vault.pk).filter(ref=ref)
    verb = partial(by_ref, partial(edit, content=content), timezone.now())
    decided = decide(_memories(), request, row, verb, did="edited")
    return _inbox(request, vault, at=ref, typed=words) if decided.refused else None


def _first_of(refusal: ValidationError) -> str:
    told: Any = refusal.detail
    while isinstance(told, dict | list):
        told = next(iter(told.values() if isinstance(told, dict) else told))
    return str(told)


def _decided_since(request: HttpRequest, vault: Vault, refs: Sequence[str], *, at: datetime) -> list[str]:
    caller = caller_behind(request, vault)
    rows = Decision.objects.filter(vault_id=vault.pk, memory__in=refs, actor=caller.actor, at__gte=at)
    found = set(rows.exclude(verb=Verb.UNDO).values_list("memory", flat=True))
    return [ref for ref in refs if ref in found]


def _refs_from_here(request: HttpRequest, vault: Vault) -> list[str]:
    """Return the refs of the page that is looked at, and the one that comes behind it."""
    rows = _waiting(caller_behind(request, vault), request, at=timezone.now())
    start = (max(_page_number(request), 1) - 1) * ROWS_SHOWN
    return list(rows.values_list("ref", flat=True)[start : start + ROWS_SHOWN + 1])


def _next_after(refs: Sequence[str], gone: set[str]) -> str | None:
    """Return what stands behind the last of those that are gone, else what stands before it."""
    last = max((place for place, ref in enumerate(refs) if ref in gone), default=None)
    if last is None:
        return None
    around = (*refs[last + 1 :], *reversed(refs[:last]))
    return next((ref for ref in around if ref not in gone), None)


# -- Showing -------------------------------------------------------------------------------------


def _inbox(request: HttpRequest, vault: Vault, *, at: str = "", typed: str | None = None) -> HttpResponse:
    caller, now = caller_behind(request, vault), timezone.now()
    may_decide = _memories().has_decide_permission(request)
    counts = _counts(caller, at=now)
    shows = _kind_shown(request)
    page = Paginator(_waiting(caller, request, at=now), ROWS_SHOWN).get_page(_page_number(request))
    focus = at or request.GET.get(_AT, "")
    items = _items(caller, page, focus=focus, typed=typed, may_decide=may_decide, at=now)
    return _shown(
        request,
        {
            "title": "Review inbox",
            "vault": vault,
            "vault_id": vault.pk,
            "items": items,
            "page": page,
            "pages": _pages(vault, page, shows),
            "kinds": [
                {
                    "name": name,
                    "count": counts[kind],
                    "url": inbox_url(vault, **{_SHOW: kind} if kind else {}),
                    "is_shown": kind == shows,
                }
                for kind, name in _KINDS.items()
            ],
            "may_decide": may_decide,
            "in_bulk": IN_BULK,
            "checkbox": ACTION_CHECKBOX_NAME,
            **_just_decided(caller, request, at=now),
        },
    )


def _shown(request: HttpRequest, context: Mapping[str, Any]) -> HttpResponse:
    return TemplateResponse(
        request, "admin/memories/review.html", {**admin.site.each_context(request), **context}
    )


def _waiting(caller: Caller, request: HttpRequest, *, at: datetime) -> MemoryQuerySet:
    rows = awaiting_review(caller, at=at)
    narrowed = {"pending": Q(status=Status.PENDING), "flagged": Q(withheld=True)}.get(_kind_shown(request))
    return (rows if narrowed is None else rows.filter(narrowed)).order_by("-recorded_at", "-pk")


def _counts(caller: Caller, *, at: datetime) -> dict[str, int]:
    """Count what each tab shows; one statement."""
    counted = awaiting_review(caller, at=at).aggregate(
        all=Count("pk"),
        pending=Count("pk", filter=Q(status=Status.PENDING)),
        flagged=Count("pk", filter=Q(withheld=True)),
    )
    return {"": counted["all"], "pending": counted["pending"], "flagged": counted["flagged"]}


def _kind_shown(request: HttpRequest) -> str:
    named = request.GET.get(_SHOW, "")
    return named if named in _KINDS else ""


def _page_number(request: HttpRequest) -> int:
    named = request.GET.get(_PAGE, "1")
    return int(named) if named.isdecimal() and len(named) < 8 else 1


def _address(request: HttpRequest, vault: Vault, **more: Any) -> str:
    """Return where the person stands: the same tab and page."""
    kept = {_SHOW: _kind_shown(request), _PAGE: _page_number(request)}
    return inbox_url(vault, **{name: value for name, value in kept.items() if value not in ("", 1)}, **more)


def _pages(vault: Vault, page: Page[Memory], shows: str) -> dict[str, str]:
    """Return the addresses of the pages before and behind this one, where there are any."""
    kept = {_SHOW: shows} if shows else {}
    found: dict[str, str] = {}
    if page.has_previous():
        found["newer"] = inbox_url(vault, **kept, **{_PAGE: page.previous_page_number()})
    if page.has_next():
        found["older"] = inbox_url(vault, **kept, **{_PAGE: page.next_page_number()})
    return found


def _items(
    caller: Caller, page: Page[Memory], *, focus: str, typed: str | None, may_decide: bool, at: datetime
) -> list[Item]:
    memories = list(page.object_list)
    if memories and focus not in {memory.ref for memory in memories}:
        focus = memories[0].ref if focus else ""
    links = _links_of(caller.vault.pk, [memory.pk for memory in memories])
    told = shown_proposals(caller, memories, at=at)
    return [
        _item(
            memory,
            proposal,
            links.get(memory.pk, []),
            has_focus=memory.ref == focus,
            typed=typed if typed is not None and memory.ref == focus else memory.content,
            may_decide=may_decide,
        )
        for memory, proposal in zip(memories, told, strict=True)
    ]


def _item(
    memory: Memory,
    told: dict[str, Any],
    links: Sequence[Mapping[str, Any]],
    *,
    has_focus: bool,
    typed: str,
    may_decide: bool,
) -> Item:
    is_pending = memory.status == Status.PENDING
    choices = (APPROVE, DECLINE, ARCHIVE, REDACT) if is_pending else (APPROVE, ARCHIVE, REDACT)
    against = {other["ref"]: other for other in (*told["replaces"], *told["contradicts"])}
    return Item(
        pk=memory.pk,
        told={
            **told,
            "against": against.get(told["against"]),
            "replaces": told["replaces"][:REPLACED_SHOWN],
            "contradicts": told["contradicts"][:REPLACED_SHOWN],
        },
        heading=_heading(memory, told),
        links=links,
        choices=choices if may_decide else (),
        may_edit=may_decide and is_pending,
        typed=typed,
        rows=min(max(3, len(typed) // 90 + typed.count("\n") + 1), 16),
        is_long=len(memory.content) > LONG_TEXT,
        has_focus=has_focus,
    )


def _heading(memory: Memory, told: Mapping[str, Any]) -> str:
    """Say in a few words why it is here."""
    if memory.withheld:
        return "Held back: it reads as an order to a model"
    if told["replaces"]:
        return "Would replace what is known"
    if Flag.CONTRADICTS_USER in memory.flags:
        return "Against the user's own words"
    return "Contradicts what is known" if told["contradicts"] else "Proposed as new"


def _links_of(vault_id: str, pks: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """Return memory id → who proposed it in the place of another, and why; two statements."""
    rows = ProposedSupersession.objects.filter(vault_id=vault_id, new_id__in=pks).order_by("at", "pk")
    found = list(rows.values("new_id", "actor", "at", "reason"))
    names = names_of(vault_id, [row["actor"] for row in found])
    links: dict[int, list[dict[str, Any]]] = {}
    for row in found:
        links.setdefault(row["new_id"], []).append(row | {"who": names[row["actor"]]})
    return {pk: rows[:REPLACED_SHOWN] for pk, rows in links.items()}


def _just_decided(caller: Caller, request: HttpRequest, *, at: datetime) -> dict[str, Any]:
    """Tell the latest decisions of the vault, and which of those just taken can be taken back."""
    vault_id = caller.vault.pk
    named = request.GET.getlist(_DECIDED)[:ROWS_SHOWN]
    latest = list(decisions_visible_to(caller).order_by("-at", "-pk")[:DECISIONS_SHOWN])
    own = decisions_visible_to(caller, actor=caller.actor).filter(memory__in=named, undone_at__isnull=True)
    just = list(own.exclude(verb=Verb.UNDO).order_by("-at", "-pk")[:ROWS_SHOWN]) if named else []
    told = shown_decisions(caller, [*latest, *just], at=at)
    refs = {decision["ref"] for decision in told}
    keys = dict(Memory.objects.in_vault(vault_id).filter(ref__in=refs).values_list("ref", "pk"))
    texts, names = excerpts_of(vault_id, sorted(refs)), names_of(vault_id, [each["actor"] for each in told])
    rows = [
        each
        | {
            "pk": keys.get(each["ref"]),
            "text": texts.get(each["ref"], "(not here any more)"),
            "who": names[each["actor"]],
            "moment": datetime.fromisoformat(each["at"]),
        }
        for each in told
    ]
    return {
        "latest": rows[: len(latest)],
        "undoable": [each for each in rows[len(latest) :] if each["reversible"] and each["pk"]],
    }
