"""The verb edit: a reviewer gives a memory that waits other words; these become its successor, approved in its place.

What was proposed keeps its text and goes to the archive, superseded "edited in review"; what it would have replaced,
the successor replaces. The new words are the reviewer's, who decides for the user: their author is `user`. A text that
reads as an order to a model waits even so, as it does whoever writes it: a plain approval lets it through.
"""

from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import Q

from cortex.errors import StateConflict
from memories.access import Caller
from memories.core.entities import spot_entities
from memories.core.kinds import AUTHOR_TRUST, Author, Flag, Kind, MemoryLayer, Status, Verb
from memories.core.text import content_hash
from memories.models import Capture, Conflict, Memory, ProposedSupersession, Scope, Source
from memories.reading import names_of
from memories.rows import delete_rows
from memories.writing.contradicting import note_contradictions
from memories.writing.decisions import keep_decision, proposals_of, row_of, standing_of
from memories.writing.inputs import MemoryInput
from memories.writing.naming import link_entities
from memories.writing.preparing import Masking, flags_of
from memories.writing.remembering import only, store_claims
from memories.writing.reviewing import carry_out_proposals, change_row, held_for_review, reviewed
from memories.writing.superseding import carry_out, withhold

EDITED: Final = "edited in review"


def edit(caller: Caller, ref: str, content: str, *, now: datetime) -> Memory:
    """Put other words in the place of a memory that waits, and approve them.

    Returns: the successor; where the project knows the text already, the memory that says it.
    Raises: NotHere; Unprocessable where the text breaks a rule; StateConflict if the memory does not wait, was
        redacted or replaced, or says that already.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        proposed = held_for_review(caller, ref, now=now)
        _check_waits(proposed)
        digest = content_hash(Masking().text(content))
        if digest == proposed.content_hash:
            raise StateConflict(f"{ref} says that already: approve it as it is")
        before = standing_of(proposed)
        kept: dict[str, Any] = {"rows": {ref: row_of(proposed)}}
        known = _known(proposed, digest, now=now)
        noted = [] if known is None else _open_conflicts(known)
        if known is None:
            successor = _written(caller, proposed, content, now=now)
            kept["rows"][successor.ref] = {**row_of(successor), "status": str(Status.ARCHIVED)}
        else:
            successor = known
            kept["rows"][successor.ref] = {**row_of(successor), "author": str(successor.author)}
            _accept(caller, proposed, successor, now=now)
        noted = [name for name in _open_conflicts(successor) if name not in noted]
        kept |= _put_in_place(caller, proposed, successor, now=now)
        kept["noted"] += noted
        kept["left"] = {
            ref: {**standing_of(proposed), "superseded_by": successor.ref},
            successor.ref: standing_of(successor),
        }
        keep_decision(
            caller,
            Verb.EDIT,
            ref,
            other=successor.ref,
            reason=EDITED,
            before=before,
            after=standing_of(proposed),
            kept=kept,
            now=now,
        )
        return successor


def _check_waits(memory: Memory) -> None:
    if memory.status != Status.PENDING:
        raise StateConflict(
            f"{memory.ref} is {memory.status}: only what is pending can be edited; supersede it instead"
        )
    if memory.superseded_by is not None:
        raise StateConflict(f"{memory.ref} has a successor already: {memory.superseded_by}")


# -- The successor -------------------------------------------------------------------------------


def _known(proposed: Memory, digest: str, *, now: datetime) -> Memory | None:
    """Return the memory of the project that says the new words already."""
    rows = Memory.objects.in_vault(proposed.vault_id).unsuperseded()
    same = rows.filter(project=proposed.project, content_hash=digest, redacted_at__isnull=True)
    lasting = same.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))
    return lasting.select_for_update().first()


def _accept(caller: Caller, proposed: Memory, known: Memory, *, now: datetime) -> None:
    """Let what was said already count as the reviewer's word; what is held back stays so."""
    if AUTHOR_TRUST[Author.USER] > AUTHOR_TRUST[Author(known.author)]:
        change_row(known, author=Author.USER)
    if known.status != Status.APPROVED or Flag.CONTRADICTS_USER in known.flags:
        flags = [flag for flag in known.flags if flag != Flag.CONTRADICTS_USER]
        change_row(known, status=Status.APPROVED, flags=flags, **reviewed(caller, now))
        note_contradictions(caller, [known], besides=_about_to_go(proposed), now=now)


def _written(caller: Caller, proposed: Memory, content: str, *, now: datetime) -> Memory:
    """Write the new words the way of every write, with all that is said about the proposed ones."""
    draft = MemoryInput(
        content=content,
        kind=Kind(proposed.kind),
        layer=MemoryLayer(proposed.layer),
        project=proposed.project,
        author=Author.USER,
        confidence=proposed.confidence,
        occurred_at=proposed.occurred_at,
        valid_from=proposed.valid_from,
        valid_to=proposed.valid_to,
        expires_at=proposed.expires_at,
        tags=tuple(proposed.tags),
        thread=proposed.thread,
        position=proposed.position,
        speaker=proposed.speaker,
    )
    stored = store_claims(caller, [draft], status=Status.APPROVED, now=now, replacing=_about_to_go(proposed))
    outcome = only(stored)
    if not outcome.created:
        raise StateConflict("somebody else wrote the same text just now: try again")
    memory = outcome.memory
    if _is_hostile_beside(proposed) and not memory.withheld:
        withhold(memory)
    change_row(memory, **reviewed(caller, now))
    link_entities(memory.vault_id, {memory.pk: _stated_names(proposed)}, now=now)
    _cite_too(memory, proposed)
    return memory


def _stated_names(proposed: Memory) -> list[str]:
    """Return what a memory is about though its words do not name it: that survives other words."""
    spotted = {name.casefold() for name in spot_entities(proposed.content)}
    names = names_of(proposed.vault_id, [proposed.pk]).get(proposed.pk, [])
    return [name for name in names if name.casefold() not in spotted]


def _is_hostile_beside(proposed: Memory) -> bool:
    """Whether it is something beside its words (a tag, a source) that reads as an order to a model."""
    words = flags_of(filter(None, (proposed.content, proposed.summary)), masked=False)
    return Flag.INSTRUCTION_LIKE in proposed.flags and Flag.INSTRUCTION_LIKE not in words


def _cite_too(successor: Memory, proposed: Memory) -> None:
    """Let the new words cite, beside themselves, what the proposed ones cite beside themselves."""
    vault_id = proposed.vault_id
    alone = Capture.objects.filter(vault_id=vault_id, content_hash=proposed.content_hash, url="", source="")
    own = set(alone.values_list("pk", flat=True))
    cited = Source.objects.filter(vault_id=vault_id, memory_id=proposed.pk).order_by("pk")
    Source.objects.bulk_create(
        [
            Source(
                vault_id=vault_id,
                memory_id=successor.pk,
                capture_id=source.capture_id,
                url=source.url,
                title=source.title,
                text=source.text,
                added_at=source.added_at,
            )
            for source in cited
            if source.capture_id not in own
        ],
        ignore_conflicts=True,
    )


def _about_to_go(proposed: Memory) -> frozenset[int]:
    """Return the ids of what the new words replace: to differ from that is no contradiction."""
    rows = ProposedSupersession.objects.filter(vault_id=proposed.vault_id, new_id=proposed.pk)
    return frozenset({proposed.pk, *rows.values_list("old_id", flat=True)})


def _open_conflicts(memory: Memory) -> list[str]:
    either = Q(left_id=memory.pk) | Q(right_id=memory.pk)
    rows = Conflict.objects.filter(either, vault_id=memory.vault_id, resolved_at__isnull=True)
    return sorted(rows.values_list("ref", flat=True))


# -- Its place -----------------------------------------------------------------------------------


def _put_in_place(caller: Caller, proposed: Memory, successor: Memory, *, now: datetime) -> dict[str, Any]:
    """Let the successor replace what was proposed, and what that would have replaced.

    Returns: what taking it back needs.
    """
    proposals, handed = proposals_of(proposed), _hand_over(proposed, successor)
    settled = carry_out(proposed, successor, actor=caller.actor, reason=EDITED, now=now)
    change_row(proposed, status=Status.ARCHIVED, superseded_by=successor.ref, **reviewed(caller, now))
    carried: dict[str, Any] = {} if successor.withheld else carry_out_proposals(caller, successor, now=now)
    for each in carried.get("proposals", []):
        each["proposed"] = each["old"] not in handed
    place = {"old": proposed.ref, "new": successor.ref, "carried": True, "proposed": False}
    return {
        "proposals": [place, *carried.get("proposals", []), *proposals],
        "handed": {"new": successor.ref, "olds": handed},
        "settled": [*settled, *carried.get("settled", [])],
        "noted": carried.get("noted", []),
    }


def _hand_over(proposed: Memory, successor: Memory) -> list[str]:
    """Let what was proposed for one memory be proposed for its successor, where that makes sense and is new.

    Returns: the refs of what the successor is proposed to replace by that.
    """
    vault_id = proposed.vault_id
    mine = ProposedSupersession.objects.filter(vault_id=vault_id, new_id=proposed.pk)
    theirs = ProposedSupersession.objects.filter(vault_id=vault_id, new_id=successor.pk)
    there = {successor.pk, *theirs.values_list("old_id", flat=True)}
    rows = [row for row in mine.order_by("at", "pk") if row.old_id not in there]
    ProposedSupersession.objects.bulk_create(
        [
            ProposedSupersession(
                vault_id=vault_id,
                old_id=row.old_id,
                new_id=successor.pk,
                reason=row.reason,
                actor=row.actor,
                at=row.at,
            )
            for row in rows
        ]
    )
    delete_rows(mine)
    olds = Memory.objects.in_vault(vault_id).filter(pk__in=[row.old_id for row in rows])
    return sorted(olds.values_list("ref", flat=True))
