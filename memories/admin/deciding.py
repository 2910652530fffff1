"""From an action in a list, or a button on a page, to a writing verb: one call per row, each its own transaction.

What a verb refuses is told beside what it did; a row is never saved here.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.http import url_has_allowed_host_and_scheme

from cortex.errors import CortexError
from memories.access import Caller, operator_of
from memories.admin.scoping import VaultScopedAdmin, chosen_vault
from memories.models import Vault

ROWS_LIMIT: Final = 500
CONFIRMED: Final = "confirmed"
FROM_PAGE: Final = "from_page"
RETURN_TO: Final = "return_to"
_REFUSALS_SHOWN: Final = 5

Verb = Callable[[Caller, Any], object]


@dataclass(slots=True, kw_only=True)
class Decided:
    """What became of the rows that a decision was about."""

    done: list[Any] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)  # what the verb answered, row by row
    refused: list[tuple[str, str]] = field(default_factory=list)


def caller_behind(request: HttpRequest, vault: Vault) -> Caller:
    """Return the operator of a vault under the person's own name: decisions are written down beside it."""
    return replace(operator_of(vault), actor=f"user:{request.user.get_username()}")


def decide(
    page: VaultScopedAdmin,
    request: HttpRequest,
    rows: QuerySet[Any],
    verb: Verb,
    *,
    did: str,
    flag: int = CHANGE,
) -> Decided:
    """Carry out a decision on each row, tell the person, and write it into the admin's log.

    Args:
        rows: of the chosen vault; beyond `ROWS_LIMIT` nothing is done.
        did: the decision's past participle, e.g. "approved".
    """
    vault, chosen = chosen_vault(request), _few(page, request, rows)
    decided = Decided()
    if vault is None or chosen is None:
        return decided
    caller = caller_behind(request, vault)
    for row in chosen:
        try:
            decided.answers.append(verb(caller, row))
            decided.done.append(row)
        except CortexError as refusal:
            decided.refused.append((str(row), refusal.detail))
    _log(page, request, decided.done, did=did, flag=flag)
    _tell(page, request, decided, did=did)
    return decided


def confirmation(
    page: VaultScopedAdmin,
    request: HttpRequest,
    rows: QuerySet[Any],
    *,
    action: str,
    title: str,
    warning: str,
) -> HttpResponse | None:
    """Ask before what cannot be undone.

    Returns: the question, or the way back where there are too many rows; None once it was answered with yes.
    """
    if CONFIRMED in request.POST:
        return None
    chosen = _few(page, request, rows)
    if chosen is None:
        return HttpResponseRedirect(request.get_full_path())
    context = {
        **page.admin_site.each_context(request),
        "title": title,
        "warning": warning,
        "rows": chosen,
        "opts": page.opts,
        "action": action,
        "checkbox": ACTION_CHECKBOX_NAME,
        "from_page": FROM_PAGE in request.POST,
        "back": page.url_of(chosen[0]) if FROM_PAGE in request.POST and chosen else request.get_full_path(),
    }
    return TemplateResponse(request, "admin/decision.html", context)


def back(page: VaultScopedAdmin, request: HttpRequest, rows: Sequence[Any]) -> HttpResponse | None:
    """Return to the page that the decision came from, or else that of the row it is about; None: to the list."""
    if FROM_PAGE not in request.POST or len(rows) != 1:
        return None
    named = request.POST.get(RETURN_TO, "")
    is_ours = named.startswith("/") and url_has_allowed_host_and_scheme(named, allowed_hosts=None)
    return HttpResponseRedirect(named if is_ours else page.url_of(rows[0]))


def _few(page: VaultScopedAdmin, request: HttpRequest, rows: QuerySet[Any]) -> list[Any] | None:
    chosen = list(rows[: ROWS_LIMIT + 1])
    if len(chosen) <= ROWS_LIMIT:
        return chosen
    page.message_user(request, f"At most {ROWS_LIMIT} at once; nothing was done.", messages.ERROR)
    return None


def _log(page: VaultScopedAdmin, request: HttpRequest, rows: Sequence[Any], *, did: str, flag: int) -> None:
    text = f"{did.capitalize()}."
    LogEntry.objects.bulk_create(
        page.log_entry(request, key=page.key_of(row), name=str(row), flag=flag, message=text) for row in rows
    )


def _tell(page: VaultScopedAdmin, request: HttpRequest, decided: Decided, *, did: str) -> None:
    if decided.done:
        noun = page.opts.verbose_name if len(decided.done) == 1 else page.opts.verbose_name_plural
        page.message_user(request, f"{len(decided.done)} {noun} {did}.", messages.SUCCESS)
    for name, reason in decided.refused[:_REFUSALS_SHOWN]:
        page.message_user(request, f"{name} was not {did}: {reason}", messages.ERROR)
    if len(decided.refused) > _REFUSALS_SHOWN:
        more = len(decided.refused) - _REFUSALS_SHOWN
        page.message_user(request, f"{more} more were not {did}.", messages.ERROR)


def tell_erasures(page: VaultScopedAdmin, request: HttpRequest, erasures: Sequence[Any]) -> None:
    """Tell the person what several forgettings erased, and what a search still finds."""
    erased = summed([erasure.erased for erasure in erasures])
    left = summed([erasure.probes for erasure in erasures])
    if erased:
        listed = ", ".join(f"{name} {count}" for name, count in erased.items() if count)
        page.message_user(request, f"Erased: {listed}.")
    if any(left.values()):
        found = ", ".join(f"{name} {count}" for name, count in left.items() if count)
        page.message_user(request, f"The old text is still found: {found}.", messages.WARNING)


def summed(counts: Sequence[Any]) -> Counter[str]:
    """Add up what several erasures report, class by class."""
    total = Counter[str]()
    for count in counts:
        total.update(count)
    return total
