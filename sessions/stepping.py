"""Step a session by one answer. Beside `ending` the only code that writes sessions.

Calls on one session are serialised: SQLite runs a writing transaction alone, PostgreSQL locks the session's row.
A call costs three queries (the session, its row, its log) and two for what became of held memories that the pack
does not carry; one or two more where some were superseded or withdrawn, one where the log must be read, three for
a session's first turn, one each 16th answer to shorten the log.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q, TextField
from django.db.models.functions import Cast

from memories.access import scope_digest
from memories.querysets import Reader
from memories.rows import in_chunks
from sessions.core.delta import (
    SESSION_LOG_CAP,
    Base,
    Delta,
    LoggedDelta,
    Served,
    base_of,
    compute_delta,
    logged,
    needs_log,
)
from sessions.core.state import SessionState, without_traces
from sessions.ending import begin_after_its_namesake
from sessions.models import DeltaRecord, WorkingSession
from sessions.standing import Fallen, fallen_of

Offer = Callable[[Collection[str]], Sequence[Served]]

REFS_AT_ONCE = 200  # an engine takes an expression of a thousand terms, and no more
_TRIM_EVERY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a call says of its session, and of the question that it asks."""

    session_id: str
    now: datetime
    since: int | None = None  # the delta cursor that the client applied last
    dropped: Collection[str] = ()  # refs that it lost since then
    content_travels_once: bool = False  # delta=content
    request_digest: str = ""  # equal for equal questions, whatever their since and dropped
    continues: bool = False  # a further page of an answer: it belongs to the turn that asked for it
    task_terms: Sequence[str] = ()
    tokens: int = 0  # of the pack


def advance(reader: Reader, turn: Turn, *, served: Sequence[Served], offer: Offer | None = None) -> Delta:
    """Compute the delta of one answer and keep it, in one short transaction.

    Args:
        served: the pack's items in pack order; all of them may surface to this reader.
        offer: called in content mode with the heads of superseded memories that the client does not have; answers
            those that can travel beside the pack. `Delta.attached` tells which of them must.
    Source: CMP §8; docs/wire.md, Session delta.
    """
    with transaction.atomic(savepoint=False):
        session = _locked(reader, turn)
        state = SessionState.from_json(session.state)
        log = read_log(session) if needs_log(state, turn.since) else ()
        base = base_of(state, log, since=turn.since, dropped=turn.dropped)
        held_back = base.held.keys() - {item.ref for item in served}
        fallen = fallen_of(reader, held_back, at=turn.now)
        delta, after = compute_delta(
            state,
            served,
            base=base,
            superseded=fallen.superseded,
            retracted=_retracted(fallen, turn),
            attachable=_attachable(fallen, turn, base, served, offer),
            content_travels_once=turn.content_travels_once,
            task_terms=turn.task_terms,
            tokens=turn.tokens,
            request_digest=turn.request_digest,
            continues=turn.continues,
        )
        _keep(session, turn, delta, after, logged(base, delta, after))
    return delta


def forget_refs(vault_id: str, refs: Collection[str]) -> int:
    """Wipe what the vault's sessions keep beside the refs of forgotten memories: see `without_traces`.

    Inside the forgetting transaction. A session that mentions a ref nowhere in its state or log stays as it is.

    Returns: how many sessions had dealt with any of these memories.
    """
    touched = sorted(_mentioning(vault_id, refs))
    for pk in touched:
        rows = WorkingSession.objects.filter(vault_id=vault_id, pk=pk)
        stored = rows.select_for_update().values_list("state", flat=True).first()
        if stored is not None:
            rows.update(state=without_traces(SessionState.from_json(stored), refs).to_json())
    return len(touched)


def on_content_withdrawn(
    sender: object, *, vault_id: str, refs: frozenset[str], erase: bool, **_: object
) -> Mapping[str, int]:
    """Drop the traces that sessions keep of forgotten memories (receiver of `content_withdrawn`)."""
    return {"sessions": forget_refs(vault_id, refs)} if erase else {}


def _mentioning(vault_id: str, refs: Collection[str]) -> set[int]:
    """The keys of the sessions whose state or log holds any of the refs; two statements for each 200 of these."""
    states = WorkingSession.objects.filter(vault_id=vault_id).annotate(text=Cast("state", TextField()))
    log = DeltaRecord.objects.filter(vault_id=vault_id).annotate(text=Cast("payload", TextField()))
    found: set[int] = set()
    for some in in_chunks(refs, REFS_AT_ONCE):
        named = Q(*(Q(text__contains=json.dumps(ref)) for ref in some), _connector=Q.OR)
        found.update(states.filter(named).values_list("pk", flat=True))
        found.update(log.filter(named).values_list("session_id", flat=True))
    return found


def read_log(session: WorkingSession) -> list[LoggedDelta]:
    """The steps that this session remembers: its last `SESSION_LOG_CAP`, oldest first."""
    return [LoggedDelta.from_json(record.payload["step"]) for record in remembered(session)]


def remembered(session: WorkingSession) -> Sequence[DeltaRecord]:
    records = DeltaRecord.objects.filter(
        vault_id=session.vault_id,
        session_id=session.pk,
        cursor__gt=session.delta_cursor - SESSION_LOG_CAP,
    )
    return list(records.order_by("cursor"))


def _locked(reader: Reader, turn: Turn) -> WorkingSession:
    """The session's row, for this transaction alone; made if there is none."""
    rows = WorkingSession.objects.visible_to(reader).filter(session_id=turn.session_id).select_for_update()
    session = rows.first()
    if session is not None:
        return session
    fresh = WorkingSession(
        vault_id=reader.vault.pk,
        session_id=turn.session_id,
        scope=scope_digest(reader.projects),
        projects=None if reader.projects is None else sorted(reader.projects),
        created_at=turn.now,
        updated_at=turn.now,
    )
    # Of two first calls one makes the row; the other waits for it here, then reads it.
    WorkingSession.objects.bulk_create([fresh], ignore_conflicts=True)
    session = rows.get()
    if session.delta_cursor == 0:
        begin_after_its_namesake(session)
    return session


def _retracted(fallen: Fallen, turn: Turn) -> frozenset[str]:
    """What leaves the known-set unannounced, or as `retracted` in content mode.

    In ids mode a memory that may not be served but may be named stays held until it is cold, and is then evicted:
    the client hears of it. Of one that may not be named nothing is said there.
    """
    return fallen.unnameable | fallen.unservable if turn.content_travels_once else fallen.unnameable


def _attachable(
    fallen: Fallen, turn: Turn, base: Base, served: Sequence[Served], offer: Offer | None
) -> Sequence[Served]:
    there = {item.ref for item in served} | base.held.keys()
    wanted = {head for head in fallen.superseded.values() if head is not None and head not in there}
    return offer(wanted) if offer and wanted and turn.content_travels_once else ()


def _keep(session: WorkingSession, turn: Turn, delta: Delta, after: SessionState, step: LoggedDelta) -> None:
    WorkingSession.objects.filter(vault_id=session.vault_id, pk=session.pk).update(
        state=after.to_json(), turn=after.turn, delta_cursor=after.delta_cursor, updated_at=turn.now
    )
    DeltaRecord(
        vault_id=session.vault_id,
        session_id=session.pk,
        cursor=delta.cursor,
        turn=delta.turn,
        request_digest=turn.request_digest,
        payload={"step": step.to_json(), "told": delta.to_json()},
        created_at=turn.now,
    ).save(force_insert=True)
    if delta.cursor % _TRIM_EVERY == 0:
        DeltaRecord.objects.filter(
            vault_id=session.vault_id, session_id=session.pk, cursor__lte=delta.cursor - SESSION_LOG_CAP
        ).delete()
