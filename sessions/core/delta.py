"""What changed for a conversation since the client last heard of it.

The rule of this module is one sentence: **the known-set is what the client holds**, and it changes only by a
delta. The client's side of it is as small:

1. Ask with `since` = the cursor of the answer applied last (0 before the first), and with `dropped` = what was
   lost from the context since then; name these again until an answer to that question was applied.
2. Apply an answer if `since` of its question is still the present cursor; ignore any other (it came twice, or
   another one overtook it: its items may be read, but they do not count as held). After a reset, hold nothing.
3. To apply: hold `new` and the heads that came with notices, forget `evicted`, the refs of `superseded` and
   `retracted`, remember the answer's cursor.

A client that asks without `since` says "I applied everything so far". Either way its held set then equals the
server's known-set. One exception is wanted: in ids mode a withdrawn memory leaves the known-set unnamed, since
no redacted id may be announced there; content mode names it in `retracted`.

Nothing leaves the known-set unsaid for want of room either: beyond `SESSION_KNOWN_CAP` those served longest ago are
`evicted`, cold or not, and are `new` again when they are next served. What the answer itself serves, or names as
a replacement, is never among them, so a pack larger than the cap is held whole. In content mode that is the only reason to evict: a text that was
sent is not sent a second time because nobody asked for it in between.

A further page of an answer belongs to the turn that it continues: it makes an answer and no turn, so that nobody
who reads on is told to forget what the pages before said.

Answers form a tree, not a line: each one is computed on a base, the answer that the client had applied, and
two calls may name the same base. `LoggedDelta` therefore keeps the way from its base forward and back, and
`replay` walks from the present to any cursor that the bounded log still reaches.

Source: CMP §8.2, §8.3; docs/wire.md, Session delta.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from sessions.core.state import (
    SESSION_KNOWN_CAP,
    Known,
    SessionState,
    TrajectoryStep,
    drifted,
    extended,
    known_from_json,
    known_to_json,
    lengthened,
)

SESSION_EVICTION_TTL_TURNS = 4
SESSION_LOG_CAP = 64  # deltas that a session remembers; an older `since` is a full resync

KnownSet = Mapping[str, Known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One item of the pack that the answer carries, in as much as a session cares."""

    ref: str
    rung: int  # 0 head sentence, 1 summary, 2 full text
    relevance: float | None = None
    item_tokens: int = 0  # what the item costs as serialised


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What the client holds at the moment it asks."""

    cursor: int
    known: KnownSet
    dropped: frozenset[str] = frozenset()
    reset: bool = False  # the cursor it named is unknown or too old: it must start over

    @property
    def held(self) -> dict[str, Known]:
        return {ref: entry for ref, entry in self.known.items() if ref not in self.dropped}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One answer's news. A ref is in at most one of new, evicted, superseded, retracted."""

    cursor: int
    turn: int
    page: int = 0  # of the turn: a further page of its answer, or what repeats it after such
    new: tuple[
        tuple[str, float | None], ...
    ] = ()  # (ref, delta_relevance) in pack order, attached heads last
    evicted: tuple[str, ...] = ()
    superseded: tuple[
        tuple[str, str | None], ...
    ] = ()  # (ref, its active head, where the client has that too)
    retracted: tuple[str, ...] = ()  # withdrawn; named on the wire in content mode alone
    carried: tuple[str, ...] = ()  # served and held already, in pack order
    changed: tuple[str, ...] = ()  # served at a fuller rung than was ever sent
    attached: tuple[str, ...] = ()  # heads that travel with their notices, beside the pack
    tokens_saved: int = 0  # what the carried items would have cost
    repeated: bool = False  # the same call again: a new answer, but not a new turn
    reset: bool = False

    def to_json(self) -> dict[str, Any]:
        """The delta as its log keeps it for people to read."""
        return {
            "new": [list(pair) for pair in self.new],
            "evicted": list(self.evicted),
            "superseded": [list(pair) for pair in self.superseded],
            "retracted": list(self.retracted),
            "carried": list(self.carried),
            "changed": list(self.changed),
            "tokens_saved": self.tokens_saved,
            "repeated": self.repeated,
            "reset": self.reset,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDelta:
    """The step from one known-set to the next, walkable in both directions."""

    cursor: int
    base: int
    turn: int
    page: int = 0
    before: KnownSet = field(default_factory=dict)  # entries of the base that the step replaced or removed
    after: Mapping[str, int] = field(default_factory=dict)  # ref → rung of the entries that it wrote

    def forward(self, known: KnownSet) -> dict[str, Known]:
        kept = {ref: entry for ref, entry in known.items() if ref not in self.before}
        return kept | {
            ref: Known(turn=self.turn, rung=rung, page=self.page) for ref, rung in self.after.items()
        }

    def back(self, known: KnownSet) -> dict[str, Known]:
        return {ref: entry for ref, entry in known.items() if ref not in self.after} | dict(self.before)

    def to_json(self) -> dict[str, Any]:
        return {
            "cursor": self.cursor,
            "base": self.base,
            "turn": self.turn,
            "page": self.page,
            "before": known_to_json(self.before),
            "after": dict(self.after),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            cursor=data["cursor"],
            base=data["base"],
            turn=data["turn"],
            page=data.get("page", 0),
            before=known_from_json(data["before"]),
            after=dict(data["after"]),
        )


# -- What the client holds ------------------------------------------------------------------------


def base_of(
    state: SessionState,
    log: Sequence[LoggedDelta] = (),
    *,
    since: int | None = None,
    dropped: Collection[str] = (),
) -> Base:
    """Tell what the client holds, from what it says of itself.

    Args:
        state: the session after its latest delta.
        log: what is remembered of its deltas, in any order; needed only where `needs_log` says so.
        since: the cursor that the client applied last; None trusts that it applied all, 0 is a fresh start.
        dropped: refs that it no longer holds.
    Returns: the base to compute the next delta on; with `reset` where `since` cannot be found again.
    Source: docs/wire.md, Session delta.
    """
    latest = state.delta_cursor if state.delta_cursor > state.first_base else 0
    cursor = latest if since is None else since
    known = replay(state, log, cursor)
    if known is None:
        return Base(cursor=0, known={}, reset=True)
    return Base(cursor=cursor, known=known, dropped=frozenset(dropped) & known.keys())


def needs_log(state: SessionState, since: int | None) -> bool:
    """Whether answering takes a look at the log: only where an answer was lost or overtaken."""
    return since is not None and 0 < since < state.delta_cursor


def replay(state: SessionState, log: Sequence[LoggedDelta], since: int) -> KnownSet | None:
    """Rebuild the known-set as it was after the delta `since`.

    Walks back from the present to where the two histories meet, then forward along the other one.

    Returns: the known-set, or None where `since` never was, was another session's of this name, or the log no longer
        reaches it.
    """
    if since == 0:
        return {}
    if since <= state.first_base:
        return None
    if since == state.delta_cursor:
        return state.known
    steps = {step.cursor: step for step in log}
    here, there = _ancestry(steps, state.delta_cursor), _ancestry(steps, since)
    meeting = next((cursor for cursor in here if cursor in there), None)
    if meeting is None:
        return None
    known = state.known
    for cursor in here[: here.index(meeting)]:
        known = steps[cursor].back(known)
    for cursor in reversed(there[: there.index(meeting)]):
        known = steps[cursor].forward(known)
    return known


def _ancestry(steps: Mapping[int, LoggedDelta], cursor: int) -> list[int]:
    """The cursor, its base, that one's base, as far as the log goes; the last is where it ends."""
    path = [cursor]
    while path[-1] in steps:
        path.append(steps[path[-1]].base)
    return path


# -- The next delta -------------------------------------------------------------------------------


def compute_delta(
    state: SessionState,
    served: Sequence[Served],
    *,
    base: Base | None = None,
    superseded: Mapping[str, str | None] | None = None,
    retracted: Collection[str] = (),
    attachable: Sequence[Served] = (),
    content_travels_once: bool = False,
    task_terms: Sequence[str] = (),
    tokens: int = 0,
    request_digest: str = "",
    continues: bool = False,
    known_cap: int = SESSION_KNOWN_CAP,
) -> tuple[Delta, SessionState]:
    """Say what this answer changes for the client, and what the client holds afterwards.

    Args:
        state: the session after its latest delta.
        served: the pack's items in pack order, each cited and allowed to surface.
        base: what the client holds; by default all of `state.known`.
        superseded: held refs that are superseded now → the active head, None where none may be shown.
            Neither they nor the heads are withdrawn.
        retracted: held refs that may no longer surface at all.
        attachable: heads that the answer could carry beside the pack, at the rung that fits; those that a notice
            needs come back as `attached`.
        content_travels_once: `delta=content`: nothing is evicted while there is room for it, and a retirement is
            held back while its successor cannot be read.
        task_terms: what moves the centroid, repeated as often as they occur.
        tokens: what the pack costs.
        request_digest: equal for equal questions, whatever their `since` and `dropped`.
        continues: this is a further page of an answer; it continues the present turn, if there was one.
        known_cap: as a parameter for tests.
    Returns: the delta and the state after it; `logged` makes the record of them that `replay` needs.
    Source: CMP §8.2, §8.3 (no leak, no resend, sound eviction); docs/wire.md, Session delta.
    """
    base = base or base_of(state)
    held, pack = base.held, {item.ref: item for item in served}
    gone = (frozenset(retracted) & held.keys()) - pack.keys()
    outdated = {r: h for r, h in (superseded or {}).items() if r in held.keys() - pack.keys() - gone}
    readable = pack.keys() | (held.keys() - gone - outdated.keys())
    retired, attached = _retirements(outdated, readable, attachable, hold_back=content_travels_once)
    sent = pack | attached

    continued = continues and bool(state.trajectory)
    repeated = not continued and _is_repeated(state, sent, request_digest)
    opens = not (continued or repeated)
    turn, page = (state.turn + 1, 0) if opens else (state.turn, state.page + bool(continued or state.page))
    spared = sent.keys() | gone | retired.keys() | {head for head in retired.values() if head}
    surplus = len((held.keys() - gone - retired.keys()) | sent.keys()) - known_cap
    cold_turn = 0 if content_travels_once else turn - SESSION_EVICTION_TTL_TURNS
    delta = Delta(
        cursor=state.delta_cursor + 1,
        turn=turn,
        page=page,
        new=tuple((item.ref, item.relevance) for item in sent.values() if item.ref not in held),
        evicted=_evicted(held, spared, cold_turn=cold_turn, surplus=surplus),
        superseded=tuple(retired.items()),
        retracted=tuple(sorted(gone)),
        carried=tuple(item.ref for item in pack.values() if _is_carried(item, held)),
        changed=tuple(item.ref for item in pack.values() if _is_fuller(item, held)),
        attached=tuple(attached),
        tokens_saved=sum(item.item_tokens for item in pack.values() if _is_carried(item, held)),
        repeated=repeated,
        reset=base.reset,
    )
    known = _known_after(held, delta, sent)
    if not opens:
        grown = lengthened(state.trajectory, tokens=tokens if continued else 0, ids=tuple(sent))
        return delta, replace(state, known=known, trajectory=grown, delta_cursor=delta.cursor, page=page)
    step = TrajectoryStep(turn=turn, tokens=tokens, ids=tuple(sent))
    return delta, SessionState(
        known=known,
        trajectory=extended(state.trajectory, step),
        centroid=drifted(state.centroid, task_terms),
        turn=turn,
        delta_cursor=delta.cursor,
        first_base=state.first_base,
        last_request=request_digest,
    )


def logged(base: Base, delta: Delta, after: SessionState) -> LoggedDelta:
    """The record of one step: what it replaced in the base's known-set, and what it wrote."""
    return LoggedDelta(
        cursor=delta.cursor,
        base=base.cursor,
        turn=delta.turn,
        page=delta.page,
        before={ref: entry for ref, entry in base.known.items() if after.known.get(ref) != entry},
        after={ref: entry.rung for ref, entry in after.known.items() if base.known.get(ref) != entry},
    )


def _retirements(
    outdated: Mapping[str, str | None],
    readable: Collection[str],
    attachable: Sequence[Served],
    *,
    hold_back: bool,
) -> tuple[dict[str, str | None], dict[str, Served]]:
    """Decide which notices go out, and which heads must travel with them.

    A head is named only if the client can read it after this answer; with `hold_back`, a notice whose head
    exists and cannot be read waits for a later answer, and its memory stays held.
    """
    on_offer = {item.ref: item for item in attachable}
    retired: dict[str, str | None] = {}
    attached: dict[str, Served] = {}
    for ref, head in sorted(outdated.items()):
        if head in on_offer and head not in readable:
            attached[head] = on_offer[head]
        can_read = head in readable or head in attached
        if can_read or head is None or not hold_back:
            retired[ref] = head if can_read else None
    return retired, attached


def _evicted(held: KnownSet, spared: Collection[str], *, cold_turn: int, surplus: int) -> tuple[str, ...]:
    """Choose what the client may forget: all that is cold, and where room is short those served longest ago.

    Args:
        spared: what has a part in this answer.
        cold_turn: the latest turn whose memories are cold by now; 0 where none grow cold.
        surplus: by how many the client would hold more than the cap; of two that the same page served, the one with
            the smaller ref goes first.
    """
    idle = {ref: entry for ref, entry in held.items() if ref not in spared}
    count = max(surplus, sum(entry.turn <= cold_turn for entry in idle.values()))
    if count <= 0:
        return ()
    oldest_first = sorted(idle, key=lambda ref: (idle[ref].turn, idle[ref].page, ref))
    return tuple(sorted(oldest_first[:count]))


def _known_after(held: KnownSet, delta: Delta, sent: Mapping[str, Served]) -> dict[str, Known]:
    forgotten = {*delta.evicted, *delta.retracted, *(ref for ref, _ in delta.superseded)}
    kept = {ref: entry for ref, entry in held.items() if ref not in forgotten}
    return kept | {
        item.ref: Known(
            turn=delta.turn,
            rung=max(item.rung, held[item.ref].rung) if item.ref in held else item.rung,
            page=delta.page,
        )
        for item in sent.values()
    }


def _is_repeated(state: SessionState, sent: Collection[str], request_digest: str) -> bool:
    """The same question with the same answer right after one another is one turn, however often it is asked.

    Where further pages of it were read since, the answer is what the turn began with.
    """
    if not state.trajectory or state.last_request != request_digest:
        return False
    served = state.trajectory[-1].ids
    return frozenset(served[: len(sent)] if state.page else served) == frozenset(sent)


def _is_fuller(item: Served, held: KnownSet) -> bool:
    return item.ref in held and item.rung > held[item.ref].rung


def _is_carried(item: Served, held: KnownSet) -> bool:
    return item.ref in held and item.rung <= held[item.ref].rung
