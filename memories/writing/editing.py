"""The verb edit: a reviewer gives a memory that waits other words, and approves these.

The new words are the reviewer's, who decides for the user: the author becomes `user`. Who proposed what, in which
words, stays in the decision. A text that reads as an order to a model waits even so, as it does whoever writes it: a
plain approval lets it through.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from cortex.errors import StateConflict
from memories.access import Caller
from memories.core.entities import spot_entities
from memories.core.kinds import Author, Flag, Kind, MemoryLayer, Status, Verb
from memories.models import Capture, Conflict, Memory, ProposedSupersession, Scope, Source
from memories.reading import names_of
from memories.rows import delete_rows
from memories.search.facade import drop_memories, index_memories
from memories.search.scrubbing import scrub_after_commit
from memories.writing.citing import CAPTURE_PREFIX, capture_url, cite
from memories.writing.contradicting import note_contradictions
from memories.writing.decisions import keep_decision, row_of, standing_of
from memories.writing.erasing import announce_rewording
from memories.writing.inputs import MemoryInput
from memories.writing.naming import link_entities, unlink_entities
from memories.writing.preparing import Prepared, entity_names, flags_of, prepare
from memories.writing.reviewing import carry_out_proposals, change_row, held_for_review, reviewed
from memories.writing.twins import is_twin


def edit(caller: Caller, ref: str, content: str, *, now: datetime) -> Memory:
    """Give a memory that waits another text, and approve it.

    Raises: NotHere; Unprocessable where the text breaks a rule; StateConflict if the memory does not wait, was
        redacted, says that already, or its project knows the same text.
    """
    caller.require(Scope.REVIEW)
    with transaction.atomic():
        memory = held_for_review(caller, ref, now=now)
        if memory.status != Status.PENDING:
            raise StateConflict(
                f"{ref} is {memory.status}: only what is pending can be edited; supersede it instead"
            )
        claim = _prepared(caller, memory, content, now=now)
        if claim.content_hash == memory.content_hash:
            raise StateConflict(f"{ref} says that already: approve it as it is")
        before = _told(memory)
        kept = _reworded(caller, memory, claim, now=now)
        after = _told(memory)
        keep_decision(caller, Verb.EDIT, ref, before=before, after=after, kept=kept, now=now)
        return memory


def restore_words(
    caller: Caller, memory: Memory, said: dict[str, Any], kept: dict[str, Any], *, now: datetime
) -> None:
    """Give an edited memory back the words, names and conflicts that it had.

    Args:
        said: what the decision shows as `before`.
    Raises: StateConflict if the project knows the same text by now.
    """
    given = MemoryInput(
        content=said["content"],
        summary=said["summary"],
        kind=Kind(memory.kind),
        layer=MemoryLayer(memory.layer),
    )
    claim = prepare(given, language=caller.vault.language, status=Status.PENDING, now=now)
    _put_words(memory, claim, author=Author(said["author"]))
    _name(memory, kept["entities"], now=now)
    delete_rows(_open_conflicts(memory))
    _bring_back_conflicts(memory, kept["conflicts"])
    own = Source.objects.filter(
        vault_id=memory.vault_id, memory_id=memory.pk, url=CAPTURE_PREFIX + kept["capture"]
    )
    delete_rows(own)
    delete_rows(Capture.objects.filter(vault_id=memory.vault_id, ref=kept["capture"]))
    _bring_back_captures(memory, kept["own"])
    _index(caller, memory)


def _prepared(caller: Caller, memory: Memory, content: str, *, now: datetime) -> Prepared:
    """Make the text ready as any write's."""
    draft = MemoryInput(
        content=content,
        kind=Kind(memory.kind),
        layer=MemoryLayer(memory.layer),
        project=memory.project,
        author=Author.USER,
    )
    return prepare(draft, language=caller.vault.language, status=Status.APPROVED, now=now)


def _reworded(caller: Caller, memory: Memory, claim: Prepared, *, now: datetime) -> dict[str, Any]:
    """Returns: what taking it back needs."""
    vault_id = memory.vault_id
    kept: dict[str, Any] = {
        "rows": {memory.ref: row_of(memory)},
        "entities": names_of(vault_id, [memory.pk]).get(memory.pk, []),
        "conflicts": [_conflict_row(memory, conflict) for conflict in _open_conflicts(memory)],
    }
    stated = _stated_names(memory, kept["entities"])
    kept["own"] = _drop_own_captures(memory)
    hostile = Flag.INSTRUCTION_LIKE in claim.flags or _is_hostile_beside(memory)
    flags = [str(flag) for flag in claim.flags]
    _put_words(memory, claim, author=Author.USER)
    change_row(
        memory,
        flags=[
            *flags,
            *[str(Flag.INSTRUCTION_LIKE)] * (hostile and Flag.INSTRUCTION_LIKE not in claim.flags),
        ],
        status=Status.APPROVED,
        withheld=hostile,
        **reviewed(caller, now),
    )
    _name(memory, [*claim.entities, *stated], now=now)
    kept["capture"] = _cite_own(memory, claim, now=now)
    delete_rows(_open_conflicts(memory))
    _index(caller, memory)
    note_contradictions(caller, [memory], besides=_about_to_be_replaced(memory), now=now)
    carried: dict[str, Any] = {} if hostile else carry_out_proposals(caller, memory, now=now)
    return kept | carried


def _told(memory: Memory) -> dict[str, Any]:
    words = {"author": str(memory.author), "content": memory.content, "summary": memory.summary}
    return {**standing_of(memory), **words}


def _put_words(memory: Memory, claim: Prepared, *, author: Author) -> None:
    try:
        with transaction.atomic():
            change_row(
                memory,
                content=claim.given.content,
                content_hash=claim.content_hash,
                term_hashes=claim.term_hashes,
                traits=claim.traits,
                summary=claim.given.summary,
                author=author,
            )
    except IntegrityError as error:
        if not is_twin(error):
            raise
        raise StateConflict("the project knows the same text already") from None


def _stated_names(memory: Memory, names: Sequence[str]) -> list[str]:
    """Return what the memory is about though its words did not name it: those names survive other words."""
    spotted = {name.casefold() for name in spot_entities(memory.content)}
    return [name for name in names if name.casefold() not in spotted]


def _name(memory: Memory, names: Sequence[str], *, now: datetime) -> None:
    unlink_entities(memory.vault_id, [memory.pk])
    link_entities(memory.vault_id, {memory.pk: entity_names(tuple(names))}, now=now)


def _is_hostile_beside(memory: Memory) -> bool:
    """Whether it is something beside its words (a tag, a source) that reads as an order to a model."""
    words = flags_of(filter(None, (memory.content, memory.summary)), masked=False)
    return Flag.INSTRUCTION_LIKE in memory.flags and Flag.INSTRUCTION_LIKE not in words


def _drop_own_captures(memory: Memory) -> list[dict[str, Any]]:
    """Drop the captures that hold just the words which are replaced, and are cited by nothing else.

    Returns: what bringing them back needs; the words are those of the decision.
    """
    vault_id = memory.vault_id
    mine = Source.objects.filter(vault_id=vault_id, memory_id=memory.pk, capture__vault_id=vault_id)
    own = list(mine.filter(capture__content=memory.content).select_related("capture"))
    ids = [source.capture_id for source in own if source.capture_id is not None]
    cited = Source.objects.filter(vault_id=vault_id, capture_id__in=ids).exclude(memory_id=memory.pk)
    shared = set(cited.values_list("capture_id", flat=True))
    dropped = [source for source in own if source.capture_id not in shared]
    captures = [source.capture for source in dropped if source.capture is not None]
    delete_rows(Source.objects.filter(vault_id=vault_id, pk__in=[source.pk for source in dropped]))
    delete_rows(Capture.objects.filter(vault_id=vault_id, pk__in=[capture.pk for capture in captures]))
    return [
        {
            "ref": capture.ref,
            "title": capture.title,
            "author": str(capture.author),
            "occurred_at": None if capture.occurred_at is None else capture.occurred_at.isoformat(),
            "captured_at": capture.captured_at.isoformat(),
        }
        for capture in captures
    ]


def _bring_back_captures(memory: Memory, rows: Sequence[dict[str, Any]]) -> None:
    here = Capture.objects.filter(vault_id=memory.vault_id, ref__in=[row["ref"] for row in rows])
    delete_rows(here)  # an import may have brought them back
    for row in rows:
        seen, taken = row["occurred_at"], datetime.fromisoformat(row["captured_at"])
        capture = Capture.objects.create(
            vault_id=memory.vault_id,
            ref=row["ref"],
            content=memory.content,
            content_hash=memory.content_hash,
            title=row["title"],
            project=memory.project,
            author=row["author"],
            occurred_at=None if seen is None else datetime.fromisoformat(seen),
            captured_at=taken,
        )
        url = capture_url(capture.ref)
        delete_rows(Source.objects.filter(vault_id=memory.vault_id, memory_id=memory.pk, url=url))
        Source.objects.create(
            vault_id=memory.vault_id,
            memory_id=memory.pk,
            capture_id=capture.pk,
            url=url,
            title=row["title"],
            added_at=taken,
        )


def _cite_own(memory: Memory, claim: Prepared, *, now: datetime) -> str:
    """Cite the new words beside what was cited before.

    Returns: the ref of the capture that holds them.
    """
    sources = Source.objects.filter(vault_id=memory.vault_id, memory_id=memory.pk)
    before = set(sources.values_list("pk", flat=True))
    cite(memory.vault_id, [(memory, claim)], captures={}, now=now)
    (url,) = sources.exclude(pk__in=before).values_list("url", flat=True)
    return url.removeprefix(CAPTURE_PREFIX)


def _index(caller: Caller, memory: Memory) -> None:
    drop_memories(memory.vault_id, [memory.pk])
    index_memories(caller.vault, [(memory.pk, memory.content)])
    announce_rewording(memory.vault_id, memory.ref)
    scrub_after_commit()


# -- Conflicts of the words that were replaced -----------------------------------------------------


def _open_conflicts(memory: Memory) -> Any:
    either = Q(left_id=memory.pk) | Q(right_id=memory.pk)
    return Conflict.objects.filter(either, vault_id=memory.vault_id, resolved_at__isnull=True)


def _conflict_row(memory: Memory, conflict: Conflict) -> dict[str, Any]:
    is_left = conflict.left_id == memory.pk
    other = Memory.objects.in_vault(memory.vault_id).filter(
        pk=conflict.right_id if is_left else conflict.left_id
    )
    return {
        "ref": conflict.ref,
        "with": other.values_list("ref", flat=True).first(),
        "is_left": is_left,
        "reason": conflict.reason,
        "detected_at": conflict.detected_at.isoformat(),
    }


def _bring_back_conflicts(memory: Memory, rows: Sequence[dict[str, Any]]) -> None:
    others = Memory.objects.in_vault(memory.vault_id).filter(ref__in=[row["with"] for row in rows])
    ids = dict(others.values_list("ref", "pk"))
    made = [
        Conflict(
            vault_id=memory.vault_id,
            ref=row["ref"],
            left_id=memory.pk if row["is_left"] else ids[row["with"]],
            right_id=ids[row["with"]] if row["is_left"] else memory.pk,
            reason=row["reason"],
            detected_at=datetime.fromisoformat(row["detected_at"]),
        )
        for row in rows
        if row["with"] in ids
    ]
    Conflict.objects.bulk_create(made, ignore_conflicts=True)


def _about_to_be_replaced(memory: Memory) -> frozenset[int]:
    rows = ProposedSupersession.objects.filter(vault_id=memory.vault_id, new_id=memory.pk)
    return frozenset(rows.values_list("old_id", flat=True))
