"""From captured text to drafts of typed memories, by rules alone.

Nothing is lost: every character of the text that is no white space stands in some draft, in the order of the
text. English sentences are typed by how they are phrased; in other languages each sentence is one claim, unless
its question mark or its date says more.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from itertools import groupby
from typing import Final

from memories.core.contradiction import dates
from memories.core.entities import is_common_word, spot_entities
from memories.core.kinds import Kind
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
    occurred_at: datetime | None = None  # the capture's own moment


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
    passages = _capped(list(_within_size(_with_content(_passages(content)))))
    return tuple(
        Draft(
            content=passage.text.strip(),
            kind=_kind_of(passage, language),
            entities=_entities_of(passage),
            position=position,
            speaker=passage.speaker,
            occurred_at=occurred_at,
        )
        for position, passage in enumerate(passages)
    )


def _entities_of(passage: "_Passage") -> tuple[str, ...]:
    found = spot_entities(passage.text)
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
    lead: int = 0  # how much of the text is a heading
    listed_as: Kind | None = None  # what the heading over its list says that it is


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
    Kind.ACTION: word_set("todo todos to-do to-dos actions tasks"),
    Kind.QUESTION: word_set("questions"),
}
_SENTENCE_END: Final = re.compile(r"[.!?…:;。！？।॥؟۔|][\"'”’»)\]」』*_`]{0,3}\s*$")


def _passages(content: str) -> Iterator[_Passage]:
    lines = content.splitlines()
    first_turn = _first_turn(lines)
    yield from _prose(lines[:first_turn])
    if first_turn < len(lines):
        yield from _turns(lines[first_turn:])


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


def _turns(lines: list[str]) -> Iterator[_Passage]:
    speaker: str | None = None
    held: list[str] = []
    for line in lines:
        named = _speaker_of(line)
        if named is not None and held:
            yield from _turn(held, speaker)
            held = []
        speaker = named or speaker
        held.append(line)
    yield from _turn(held, speaker)


def _turn(lines: list[str], speaker: str | None) -> Iterator[_Passage]:
    text = "\n".join(lines).strip()
    if len(text) <= LONGEST_TURN:
        yield _Passage(text=text, form=_Form.TURN, speaker=speaker)
        return
    for piece in _joined_up_to(sentences(text), LONGEST_TURN):
        yield _Passage(text=piece, form=_Form.TURN, speaker=speaker)


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
    for form, block in _blocks(lines):
        passages = _passages_of_block(form, block)
        if form is _Form.SENTENCE and _is_heading(block, passages):
            heading += block
            listed_as = _kind_of_list(block[0])
            continue
        if not _BULLET.match(block[0]):
            listed_as = None
        passages = [replace(passage, listed_as=listed_as) for passage in passages]
        if heading:
            passages[0] = _headed("\n".join(heading) + "\n", passages[0])
            heading = []
        yield from passages
    if heading:
        yield _Passage(text="\n".join(heading), form=_Form.SENTENCE)


def _headed(heading: str, passage: _Passage) -> _Passage:
    return replace(passage, text=heading + passage.text, lead=len(heading))


def _is_heading(block: list[str], passages: list[_Passage]) -> bool:
    line = block[0].rstrip()
    return len(block) == len(passages) == 1 and (bool(_HEADING.match(line)) or line.endswith((":", "：")))


def _kind_of_list(heading: str) -> Kind | None:
    words = frozenset(heading.lower().strip(" #:*_").split())
    return next((kind for kind, titles in _LIST_TITLES.items() if words & titles and len(words) <= 3), None)


def _passages_of_block(form: _Form, block: list[str]) -> list[_Passage]:
    if form is _Form.SENTENCE:
        return [_Passage(text=sentence, form=form) for sentence in sentences(" ".join(block))]
    return [_Passage(text="\n".join(block), form=form)]


def _blocks(lines: list[str]) -> Iterator[tuple[_Form, list[str]]]:
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

_QUESTION: Final = re.compile(r"[?？؟][\"'”’»)\]」』*_]{0,3}\s*$")
_REPEATED_DAY: Final = re.compile(r"\b(?:every|each)\b|days\b", re.IGNORECASE)
_LEAD: Final = r"^\W{0,6}(?:(?:please|note|rule|important|remember)\b\W{0,3}){0,2}"
_ENGLISH: Final = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in [
        (Kind.SUMMARY, r"^\W{0,6}(?:tl;?dr|summary|in summary|in short|to summari[sz]e)\b"),
        (
            Kind.ACTION,
            r"\b(?:todo|to-do|fixme|action items?)\b|^\W{0,4}\[[ x]\]|\b(?:don'?t|do not) forget to\b|\bremember to\b",
        ),
        (
            Kind.NEGATIVE,
            _LEAD + r"(?:never|do not|don['’]?t|avoid|no more)\b(?!\s(?:worry|mind|know|forget|think))"
            r"|\b(?:must|shall|should|may)(?:\s(?:not|never|always)|n['’]t)\b|\balways must\b"
            r"|\b(?:is|are) (?:not allowed|forbidden|prohibited|strictly)\b|\bunder no circumstances\b",
        ),
        (
            Kind.DECISION,
            r"^\W{0,6}(?:decision|decided|agreed|resolved)\b"
            r"|\b(?:decided|agreed|resolved|opted|settled on|(?:have|has|we|i|they) chose(?:n)?)\b"
            r"|\b(?:we|i)(?:['’]ll| will| are going to|['’]re going to) (?:use|go with|adopt|switch|move|migrate|keep|drop|"
            r"stick|standardi[sz]e|replace|build on|stay)\b|\blet['’]?s (?:go with|use|stick with|switch to)\b",
        ),
        (
            Kind.PREFERENCE,
            r"\b(?:i|we|he|she|they)\s(?:(?:really|also|always|usually|generally|still|do|don['’]?t|does(?:n['’]?t)?|do not|does not)\s){0,2}"
            r"(?:prefers?|likes?|loves?|hates?|dislikes?|enjoys?|can['’]?t stand|would rather)\b"
            r"|\bfavou?rite\b|\bpreferences?\b|\bprefers\b",
        ),
        (
            Kind.STYLE,
            _LEAD + r"(?:always )?(?:answer|reply|respond|write|format)\b.{0,60}\b(?:in|with|without|briefly|short|concise|formal|bullet)",
        ),
        (
            Kind.ACTION,
            r"\b(?:i|we|you|he|she|they|someone|team)\s(?:still\s)?(?:needs?|have|has|ought) to\b|\b(?:needs?|has) to be\b"
            r"|\b(?:will|['’]ll)\b.{1,120}\bby\s(?:\d|the end|end of|eod|tomorrow|tonight|next|noon|\w+day|"
            r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
        ),
    ]
)  # fmt: skip
_NAMED_TASTE: Final = re.compile(
    r"^\W{0,6}[A-Z][\w’'-]{1,30}\s(?:really |also )?(?:likes|loves|hates|dislikes|enjoys|prefers)\b"
)


def _kind_of(passage: _Passage, language: str) -> Kind:
    if passage.form is _Form.STEPS:
        return Kind.PROCEDURE
    if passage.form is _Form.BLOCK:
        return Kind.CLAIM
    text = passage.text[passage.lead :][:LONGEST_DRAFT]
    if passage.form is _Form.TURN:
        return _kind_of_turn(text, language)
    if _QUESTION.search(text):
        return Kind.QUESTION
    if language == DEFAULT_LANGUAGE and (kind := _english_kind(text)):
        return kind
    if passage.listed_as is not None:
        return passage.listed_as
    return Kind.EVENT if _tells_of_a_day(text) else Kind.CLAIM


def _kind_of_turn(text: str, language: str) -> Kind:
    """What is said is an observation, at a named day an event; a decision or a bare question outweighs that."""
    if _QUESTION.search(text) and len(sentences(text)) == 1:
        return Kind.QUESTION
    if language == DEFAULT_LANGUAGE and _english_kind(text) is Kind.DECISION:
        return Kind.DECISION
    return Kind.EVENT if _tells_of_a_day(text) else Kind.OBSERVATION


def _english_kind(text: str) -> Kind | None:
    found = next((kind for kind, pattern in _ENGLISH if pattern.search(text)), None)
    if found is None and _NAMED_TASTE.search(text):
        return Kind.PREFERENCE
    return found


def _tells_of_a_day(text: str) -> bool:
    return bool(dates(text)) and not _REPEATED_DAY.search(text)
