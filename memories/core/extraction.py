"""From captured text to drafts of typed memories, by rules alone.

Nothing is lost: every character of the text that is no white space stands in some draft, in the order of the
text. Sentences are typed by how they are phrased (`phrasing.py`), in English well; in other languages each is one
claim, unless it plainly says more. No word is changed: whom a pronoun means is told by the entities of a draft.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import Enum, auto
from itertools import groupby
from typing import Final

from memories.core.entities import is_common_word, spot_entities
from memories.core.kinds import Kind
from memories.core.occasions import day_due, day_told, tells_of_a_day
from memories.core.phrasing import kind_of_sentence, owner_of, phrased_kind
from memories.core.text import DEFAULT_LANGUAGE, sentences, word_set

LONGEST_DRAFT: Final = 2_000  # characters
LONGEST_TURN: Final = 600  # a longer speech is split between its sentences
DRAFTS_PER_CAPTURE: Final = 2_000
_DRAFTS_KEPT_APART: Final = 1_500  # of more drafts than the cap, the later ones are joined


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One memory to be: its text as captured, and what the rules could tell of it."""

    content: str
    kind: Kind
    entities: tuple[str, ...]
    position: int  # its place in the capture, from 0
    speaker: str | None = None
    occurred_at: datetime | None = None  # of an event the day that it tells of, else the capture's own moment
    owner: str | None = None  # of an action: who is to do it
    due: date | None = None  # ... and until when


def extract(
    content: str, *, occurred_at: datetime | None = None, language: str = DEFAULT_LANGUAGE
) -> tuple[Draft, ...]:
    """Turn a text into drafts of memories, in the order of the text.

    Args:
        content: prose, notes, a list of steps or a transcript (`Name: what was said`).
        occurred_at: when it was said or written; carried by each draft.
        language: of the vault; the rules that type a sentence know English.
    Returns: at most 2,000 drafts; nothing for a text without content.
    """
    passages = _capped(list(_within_size(_with_content(_passages(content, language)))))
    said_at = None if _is_dated_within(content) else occurred_at
    drafts: list[Draft] = []
    for position, passage in enumerate(passages):
        draft = Draft(
            content=passage.text.strip(),
            kind=_kind_of(passage, language),
            entities=_entities_of(passage, before=passages[position - 1] if position else None),
            position=position,
            speaker=passage.speaker,
            occurred_at=occurred_at,
        )
        drafts.append(_dated(draft, passage.told, said_at=said_at))
    return tuple(drafts)


def _dated(draft: Draft, told: str, *, said_at: datetime | None) -> Draft:
    """Add when an event happened, and to an action who is to do it and until when, as far as the text says so."""
    if draft.kind is Kind.EVENT:
        return replace(draft, occurred_at=day_told(told, said_at=said_at) or draft.occurred_at)
    if draft.kind is Kind.ACTION:
        owner = owner_of(told, speaker=draft.speaker)
        return replace(draft, owner=owner, due=day_due(told, said_at=said_at))
    return draft


def _entities_of(passage: "_Passage", *, before: "_Passage | None") -> tuple[str, ...]:
    found = spot_entities(passage.text)
    if before is not None and before.speaker == passage.speaker and before.form is passage.form:
        meant = _meant_by_pronoun(passage.told, before.told)
        found = (*found, meant) if meant and meant not in found else found
    if passage.speaker is None or passage.speaker in found or passage.speaker.lower() in _ROLES:
        return found
    return (passage.speaker, *found)


# -- Passages: what belongs together -------------------------------------------------------------


class _Form(Enum):
    SENTENCE = auto()
    STEPS = auto()
    BLOCK = auto()  # code, a table: kept as it is
    TURN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    text: str
    form: _Form
    speaker: str | None = None
    lead: int = 0  # how much of the text is a heading, or a speaker's name
    listed_as: Kind | None = None  # what the heading over its list says that it is

    @property
    def told(self) -> str:
        """What it says, without the heading or the speaker's name before it."""
        return self.text[self.lead :]


_TURN: Final = re.compile(
    r"^[ \t>*-]{0,4}(?:\[[^\]\n]{1,40}\][ \t]*|\(?\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?\)?[ \t-]{1,3})?"
    r"(?P<speaker>[^\W\d_][\w.’'-]{0,30}(?: [^\W\d_][\w.’'-]{0,30}){0,2})"
    r"(?:[ \t]?[(\[][^)\]\n]{1,40}[)\]])?\*{0,2}(?::\*{0,2}(?=\s|$)|：)"
)
_ROLES: Final = word_set("user assistant human ai system bot agent me you")
_FENCE: Final = re.compile(r"^[ \t]{0,3}(?:```|~~~)")
_STEP: Final = re.compile(
    r"^[ \t]{0,12}(?:\d{1,3}[.)][ \t]|(?:step|schritt|étape|paso|шаг) \d{1,3}[.:)]?\s)", re.IGNORECASE
)
_BULLET: Final = re.compile(r"^[ \t]{0,12}(?:[-*+•‣◦–][ \t]|\[[ xX]\][ \t])")
_HEADING: Final = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]")
_TABLE: Final = re.compile(r"^[ \t]{0,3}\|")
_LIST_TITLES: Final = {
    Kind.NEGATIVE: word_set("rules constraints guardrails prohibitions"),
    Kind.DECISION: word_set("decisions decided agreed agreements"),
    Kind.PREFERENCE: word_set("preferences likes dislikes"),
    Kind.ACTION: word_set("todo todos to-do to-dos action actions tasks"),
    Kind.QUESTION: word_set("questions"),
}
_STAMPED: Final = re.compile(
    r"^[ \t>*-]{0,4}[\[(]?(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}).{0,40}?[^\W\d_][\w .]{0,40}:"
)
_PROCEDURE_TITLE: Final = re.compile(
    r"^(?!next\b|first\b)(?:.{0,60}\b(?:steps?|procedure|how to|instructions|runbook|recipe)\b"
    r"|to [a-z]+ |so (?:wird|werden|geht|gehen|funktioniert)\b|.{0,40}(?:schritte|anleitung|vorgehen)\b"
    r"|(?:.{0,40}\bpasos|cómo|.{0,40}\bétapes|comment)\b|.{0,20}(?:步骤|方法|手順))",
    re.IGNORECASE,
)
_ITEMS_TITLE: Final = word_set(
    "attendees participants present members people agenda topics options ingredients risks goals notes facts"
)
_FIRST: Final = re.compile(
    r"^\W{0,6}first(?:ly)?,?\s(?!the\b|a\b|an\b|we\b|i\b|he\b|she\b|they\b|it\b|there\b|of\b|time\b|you\b|and\b|come\b|"
    r"\w+(?:ed|ing|s)\b)[a-z]+\b",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(
    r"^\W{0,6}(?:then|next|after that|afterwards|second(?:ly)?|third(?:ly)?|finally|lastly|last)\b",
    re.IGNORECASE,
)
_NEXT_WITHIN: Final = re.compile(r"[,;] (?:and )?(?:then|next|after that|finally)\b", re.IGNORECASE)
_TOLD_APART: Final = frozenset({Kind.DECISION, Kind.NEGATIVE, Kind.ACTION})
_SHORTEST_APART: Final = 12  # characters
_POINTS_BACK: Final = re.compile(
    r"\b(?:it|its|that|this|these|those|them|they|he|she|him|her|so)\b", re.IGNORECASE
)
_SENTENCE_END: Final = re.compile(r"[.!?…:;。！？।॥؟۔|][\"'”’»)\]」』*_`]{0,3}\s*$")


def _passages(content: str, language: str) -> Iterator[_Passage]:
    lines = content.splitlines()
    first_turn = _first_turn(lines)
    yield from _prose(lines[:first_turn])
    if first_turn < len(lines):
        yield from _turns(lines[first_turn:], language)


def _is_dated_within(content: str) -> bool:
    """Whether headings or stamps date parts of a text: then nobody knows what its "yesterday" is measured from."""
    return any(
        _STAMPED.match(line) or (_HEADING.match(line) and tells_of_a_day(line))
        for line in content.splitlines()
    )


def _first_turn(lines: list[str]) -> int:
    """Return the line at which a transcript begins; past the end where the text is none."""
    turns = [(index, speaker) for index, line in enumerate(lines) if (speaker := _speaker_of(line))]
    spoken = sum(bool(_SENTENCE_END.search(lines[index])) for index, _ in turns)
    speakers = {speaker for _, speaker in turns}
    is_transcript = len(turns) >= 2 and (len(speakers) < len(turns) or 2 * spoken >= len(turns))
    return turns[0][0] if is_transcript else len(lines)


def _speaker_of(line: str) -> str | None:
    match = _TURN.match(line)
    if match is None:
        return None
    name = match["speaker"]
    if name.lower() in _ROLES:
        return name
    if any(word[0].islower() for word in name.split()) or is_common_word(name.split()[0]):
        return None
    return name


def _turns(lines: list[str], language: str) -> Iterator[_Passage]:
    speaker: str | None = None
    held: list[str] = []
    for line in lines:
        named = _speaker_of(line)
        if named is not None and held:
            yield from _turn(held, speaker, language)
            held = []
        speaker = named or speaker
        held.append(line)
    yield from _turn(held, speaker, language)


def _turn(lines: list[str], speaker: str | None, language: str) -> Iterator[_Passage]:
    text = "\n".join(lines).strip()
    named = _TURN.match(text)
    lead = named.end() if named and speaker else 0
    for piece in _apart(text, lead, language):
        for part in _joined_up_to(sentences(piece), LONGEST_TURN) if len(piece) > LONGEST_TURN else [piece]:
            yield _Passage(text=part, form=_Form.TURN, speaker=speaker, lead=lead)
            lead = 0


def _apart(text: str, lead: int, language: str) -> Iterator[str]:
    """Split a turn around what is decided, forbidden or to be done in it, where that stands for itself."""
    kept: list[str] = []
    for number, sentence in enumerate(_spans_of_sentences(text)):
        told = sentence[lead:] if number == 0 else sentence
        kind = phrased_kind(told, language=language) if len(told) > _SHORTEST_APART else None
        if kind not in _TOLD_APART or _POINTS_BACK.search(told) or "?" in told:
            kept.append(sentence)
            continue
        if kept:
            yield "".join(kept).strip()
            kept = []
        yield sentence.strip()
    if kept:
        yield "".join(kept).strip()


def _spans_of_sentences(text: str) -> Iterator[str]:
    """Yield the sentences, each with the white space behind it."""
    start = 0
    found = sentences(text)
    for sentence, following in zip(found, [*found[1:], None], strict=True):
        end = (
            len(text)
            if following is None
            else text.index(following, text.index(sentence, start) + len(sentence))
        )
        yield text[start:end]
        start = end


def _joined_up_to(pieces: Iterable[str], limit: int) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for piece in pieces:
        if held and size + len(piece) + 1 > limit:
            yield "\n".join(held)
            held, size = [], 0
        held.append(piece)
        size += len(piece) + 1
    if held:
        yield "\n".join(held)


def _prose(lines: list[str]) -> Iterator[_Passage]:
    """Yield the passages of notes and prose; a heading goes with what it heads."""
    heading: list[str] = []
    listed_as: Kind | None = None
    for form, block in _lists_as_headed(_blocks(lines)):
        passages = _passages_of_block(form, block)
        if _is_heading(form, block):
            heading += block
            listed_as = _kind_of_list(block[0])
            continue
        if not _BULLET.match(block[0]) and not _STEP.match(block[0]):
            listed_as = None
        passages = [replace(passage, listed_as=listed_as) for passage in passages]
        if heading:
            passages[0] = _headed("\n".join(heading) + "\n", passages[0])
            heading = []
        yield from passages
    if heading:
        yield _Passage(text="\n".join(heading), form=_Form.SENTENCE)


_Block = tuple[_Form, list[str]]


def _lists_as_headed(blocks: Iterable[_Block]) -> Iterator[_Block]:
    """Keep the bullets of a procedure together, and take a numbered list that is none apart, as their heading says."""
    title = ""
    held: list[str] = []
    for form, block in blocks:
        is_bullet = form is _Form.SENTENCE and bool(_BULLET.match(block[0]))
        if held and not is_bullet:
            yield _Form.STEPS if len(held) > 1 else _Form.SENTENCE, held
            held, title = [], ""
        if is_bullet and _heads_a_procedure(title):
            held += block
            continue
        if form is _Form.STEPS and _heads_items(title):
            yield from ((_Form.SENTENCE, item) for item in _items(block))
        else:
            yield form, block
        title = _title(block) if _is_heading(form, block) else ""
    if held:
        yield _Form.STEPS if len(held) > 1 else _Form.SENTENCE, held


def _title(block: list[str]) -> str:
    return block[0].strip(" \t#:：*_").lower()


def _heads_a_procedure(title: str) -> bool:
    return bool(_PROCEDURE_TITLE.search(title)) and _kind_of_list(title) is None


def _heads_items(title: str) -> bool:
    return _kind_of_list(title) is not None or title in _ITEMS_TITLE


def _items(block: list[str]) -> Iterator[list[str]]:
    """Yield the items of a numbered list, each with what is indented below it."""
    item: list[str] = []
    for line in block:
        if item and _STEP.match(line):
            yield item
            item = []
        item.append(line)
    yield item


def _headed(heading: str, passage: _Passage) -> _Passage:
    return replace(passage, text=heading + passage.text, lead=len(heading))


def _is_heading(form: _Form, block: list[str]) -> bool:
    if form is not _Form.SENTENCE or len(block) != 1:
        return False
    line = block[0].rstrip()
    if not _HEADING.match(line) and not line.endswith((":", "：")):
        return False
    return len(sentences(line)) == 1


def _kind_of_list(heading: str) -> Kind | None:
    words = frozenset(heading.lower().strip(" #:*_").split())
    if words == {"next", "steps"}:
        return Kind.ACTION
    return next((kind for kind, titles in _LIST_TITLES.items() if words & titles and len(words) <= 3), None)


def _passages_of_block(form: _Form, block: list[str]) -> list[_Passage]:
    if form is _Form.SENTENCE:
        return list(_told_in_order(sentences(" ".join(block))))
    return [_Passage(text="\n".join(block), form=form)]


def _told_in_order(found: list[str]) -> Iterator[_Passage]:
    """Yield sentences, those that tell one after the other what to do as one procedure."""
    index = 0
    while index < len(found):
        end = index + 1
        if _FIRST.match(found[index]):
            while end < len(found) and _NEXT.match(found[end]):
                end += 1
        is_procedure = end > index + 1 or bool(
            _FIRST.match(found[index]) and _NEXT_WITHIN.search(found[index])
        )
        form = _Form.STEPS if is_procedure else _Form.SENTENCE
        yield _Passage(text=" ".join(found[index:end]), form=form)
        index = end


def _blocks(lines: list[str]) -> Iterator[_Block]:
    """Yield runs of lines that are read as one: code, tables, steps; else a line and its continuations."""
    index = 0
    while index < len(lines):
        if not lines[index].strip():
            index += 1
            continue
        form, end = _block_at(lines, index)
        yield form, [line for line in lines[index:end] if line.strip()]
        index = end


def _block_at(lines: list[str], start: int) -> tuple[_Form, int]:
    if _FENCE.match(lines[start]):
        end = next((i for i in range(start + 1, len(lines)) if _FENCE.match(lines[i])), len(lines) - 1)
        return _Form.BLOCK, end + 1
    if _TABLE.match(lines[start]):
        end = next((i for i in range(start, len(lines)) if not _TABLE.match(lines[i])), len(lines))
        return _Form.BLOCK, end
    if _STEP.match(lines[start]):
        end, steps = _end_of_steps(lines, start)
        if steps > 1:
            return _Form.STEPS, end
    end = start + 1
    while end < len(lines) and _continues(lines[end - 1], lines[end]):
        end += 1
    return _Form.SENTENCE, end


def _end_of_steps(lines: list[str], start: int) -> tuple[int, int]:
    """Return where a numbered list ends and how many steps it has; what is indented belongs to its step."""
    end, steps = start, 0
    for index in range(start, len(lines)):
        line = lines[index]
        if _STEP.match(line):
            steps += 1
            end = index + 1
        elif line.strip() and line[0].isspace():
            end = index + 1
        elif line.strip():
            break
    return end, steps


def _continues(line: str, following: str) -> bool:
    """Tell whether a sentence runs on past the end of its line, as in text wrapped by hand."""
    begun = following.strip()
    if not begun or _SENTENCE_END.search(line) or _HEADING.match(line):
        return False
    starts_anew = any(mark.match(following) for mark in (_BULLET, _STEP, _FENCE, _TABLE, _HEADING))
    return not starts_anew and begun[0].islower() and len(line.strip()) > 40


# -- Size and number -----------------------------------------------------------------------------


def _with_content(passages: Iterable[_Passage]) -> Iterator[_Passage]:
    """Join what says nothing by itself, such as a ruler or a lone bracket, to the passage before it."""
    held: list[_Passage] = []
    telling: _Passage | None = None
    for passage in passages:
        says_something = _says_something(passage.text)
        if says_something and telling is not None:
            yield _as_one(held, telling)
            held, telling = [], None
        held.append(passage)
        telling = passage if says_something else telling
    if held:
        yield _as_one(held, telling or held[0])


def _as_one(passages: list[_Passage], telling: _Passage) -> _Passage:
    """Join passages into one of the form of the one that says something."""
    text = "\n".join(passage.text for passage in passages)
    return replace(telling, text=text, lead=telling.lead if telling is passages[0] else 0)


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _within_size(passages: Iterable[_Passage]) -> Iterator[_Passage]:
    for passage in passages:
        if len(passage.text) <= LONGEST_DRAFT:
            yield passage
            continue
        for piece in _split(passage.text):
            yield replace(passage, text=piece, lead=0)


def _split(text: str) -> Iterator[str]:
    """Split a text that is too long: after a line, else after a word, else anywhere."""
    start = 0
    while len(text) - start > LONGEST_DRAFT:
        window = text[start : start + LONGEST_DRAFT]
        cut = max(window.rfind("\n"), 0) if "\n" in window[LONGEST_DRAFT // 2 :] else window.rfind(" ")
        cut = cut if cut > 0 else LONGEST_DRAFT
        if piece := window[:cut].strip():
            yield piece
        start += cut
    if rest := text[start:].strip():
        yield rest


def _capped(passages: list[_Passage]) -> list[_Passage]:
    """Join later passages, evenly, where there are more than a capture may have."""
    if len(passages) <= DRAFTS_PER_CAPTURE:
        return passages
    later = passages[_DRAFTS_KEPT_APART:]
    room = DRAFTS_PER_CAPTURE - _DRAFTS_KEPT_APART
    groups = groupby(enumerate(later), key=lambda pair: pair[0] * room // len(later))
    return passages[:_DRAFTS_KEPT_APART] + [_joined([passage for _, passage in group]) for _, group in groups]


def _joined(passages: list[_Passage]) -> _Passage:
    speakers = {passage.speaker for passage in passages}
    return _Passage(
        text="\n".join(passage.text for passage in passages),
        form=passages[0].form,
        speaker=speakers.pop() if len(speakers) == 1 else None,
    )


# -- Kinds ---------------------------------------------------------------------------------------


def _kind_of(passage: _Passage, language: str) -> Kind:
    if passage.form is _Form.STEPS:
        return Kind.PROCEDURE
    if passage.form is _Form.BLOCK:
        return Kind.CLAIM
    text = passage.told[:LONGEST_DRAFT]
    if passage.form is _Form.TURN:
        return _kind_of_turn(text, language)
    return kind_of_sentence(text, language=language, listed_as=passage.listed_as)


def _kind_of_turn(text: str, language: str) -> Kind:
    """What is said is an observation, at a named day an event; what one sentence does outweighs that."""
    if len(sentences(text)) == 1:
        kind = kind_of_sentence(text, language=language)
        return Kind.OBSERVATION if kind is Kind.CLAIM else kind
    if phrased_kind(text, language=language) is Kind.DECISION:
        return Kind.DECISION
    return Kind.EVENT if tells_of_a_day(text) else Kind.OBSERVATION


# -- Whom a pronoun means ------------------------------------------------------------------------

_HE: Final = re.compile(r"^\W{0,6}(?:he|his)\b", re.IGNORECASE)
_SHE: Final = re.compile(r"^\W{0,6}(?:she|her)\b", re.IGNORECASE)
_PLACED: Final = re.compile(r"\b(?:in|at|from|near|on|of) (?:the )?$")
_DOES: Final = re.compile(
    r"\s(?:lives|works|leads|likes|prefers|wants|thinks|says|said|told|asked|called|joined|left|was born|teaches|studies"
    r"|manages|runs|owns|plays|speaks|drives|married|repairs|cooks|writes|paints|is (?:allergic|married|a|an|our|my|the))\b"
)
_OTHER_PEOPLE: Final = re.compile(
    r"\b(?:brother|sister|mother|father|mum|mom|dad|man|woman|wife|husband|son|daughter|boy|girl|friend|colleague|boss"
    r"|doctor|nurse|teacher|neighbou?r|user|customer|manager|partner|aunt|uncle|grand\w+|everyone|somebody)s?\b",
    re.IGNORECASE,
)


def _meant_by_pronoun(text: str, before: str) -> str | None:
    """Return whom "he" or "she" at the start of a sentence means; None unless only one person can be meant.

    The sentence keeps its words: it is only tied to the entity, so a wrong guess could never change what it says.
    """
    if not (_HE.match(text) or _SHE.match(text)) or _OTHER_PEOPLE.search(before) or _people(text):
        return None
    people = _people(before)
    if len(people) != 1:
        return None
    (name,) = people
    at = before.find(name)
    return name if not before[:at].strip("#>*-• \t") and _DOES.match(before, at + len(name)) else None


def _people(text: str) -> tuple[str, ...]:
    """Return the names in a text that are not the place, the day or the thing of something."""
    return tuple(name for name in spot_entities(text) if not _PLACED.search(text[: max(0, text.find(name))]))
