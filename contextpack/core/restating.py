"""When one text restates another: the same words, whatever frames them, and nothing that sets the two apart.

Precision comes first: a restatement that is not seen costs a line, two claims taken for one cost a memory. So
texts are read as sequences of words and of whatever else stands between blanks, and these must be the same, but
for what is listed here as harmless:

- fillers ("please note that", "currently"), articles, and the punctuation that goes with them;
- a plural s, a few synonyms, a present passive for "we do";
- the place of a phrase that a preposition opens ("on Friday"), in a single sentence where nothing hinges on it.

Digits, signs, symbols, single letters, codes, paths, addresses, emoji and quotations are compared as they stand,
and so is every word of a script or a language that these lists do not speak of.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from memories.core.text import word_set

# -- What is harmless ----------------------------------------------------------------------------

_LEAD_IN: Final = re.compile(
    r"\s*(?:"
    r"(?:(?:please|kindly|just)\s+)?(?:a\s+)?(?:(?:quick|gentle|friendly)\s+)?"
    r"(?:note|remember|reminder|fyi|be aware)(?:\s*[:,]|\s+that\b)"
    r"|(?:(?:ok|okay|well|yes|yeah|right)\s+)?so(?:\s*,|(?=\s+(?:the|our|my|your|his|her|their|its|this|these|we|it|they|he|she|you|i)\s))"
    r"|(?:yes|yeah|yep|yup|ok|okay|right|correct|exactly|indeed|sure|well|anyway|once (?:more|again)|i repeat|to repeat"
    r"|(?:just )?to (?:be clear|confirm|remind you)|for the record|for reference|in other words"
    r"|(?:as|like) (?:i|we)(?:['’]ve)? (?:already )?(?:said|mentioned|noted|told you)(?: (?:before|earlier|already|again))?"
    r"|ja|wie (?:gesagt|erwähnt|besprochen|vereinbart)|noch ?(?:ein)?mals?|zur erinnerung|übrigens|kurz gesagt"
    r"|oui|comme (?:dit|convenu|mentionné|je l['’]ai dit)|donc|encore une fois|pour rappel|bref"
    r"|sí|como (?:dije|ya dije|he dicho|acordamos)|otra vez|una vez más|por cierto|en resumen)\s*[:,]"
    r"|(?:nb|ps|update|recap|info|again|also|btw|by the way|heads[- ]up|tl;dr|to recap|in short|of course"
    r"|as (?:discussed|mentioned|agreed|noted|said|you know|before))\s*[:,]"
    r")\s*",
    re.I,
)
_REMARK: Final = re.compile(
    r"(?:(?:[,;.]|\s[—–-]{1,2})\s*"
    r"(?:(?:as|like) (?:i|we)(?:['’]ve)? (?:already )?(?:said|mentioned|noted|told you)(?: (?:before|earlier|already|again))?"
    r"|as (?:discussed|mentioned|agreed|noted|said)(?: (?:before|earlier|already))?|once (?:more|again)|i repeat"
    r"|wie (?:gesagt|erwähnt|besprochen|vereinbart)|comme (?:dit|convenu|mentionné)|como (?:dije|ya dije|he dicho))"
    r"|\s\((?:as (?:i|we)(?:['’]ve)? (?:already )?(?:said|mentioned|noted|told you)(?: (?:before|earlier|already|again))?"
    r"|as (?:discussed|mentioned|noted|said)(?: (?:before|earlier|already))?"
    r"|(?:that['’]s |that is |i(?:['’]ve)? )?(?:said|asked|told you|mentioned)"
    r" (?:it |this |that )?(?:twice|(?:two|three|four|five|\d) times)(?: (?:now|already|before))?)\))[.!]?\Z",
    re.I,
)
# Of a value that is given, "three times now" tells how often it was said; of anything else, how often it happened.
_COUNTED_REMARK: Final = re.compile(
    r"(?P<value>\b(?:is|are)\s\d[\d.,:]*(?:\s?(?:%|[a-z]{1,12}))?(?:\s(?:per|a|an|each)\s[a-z]{1,12})?)[.,]?"
    r"\s\((?:that['’]s |that is )?(?:twice|(?:two|three|four|five|\d) times)(?: (?:now|already))\)[.!]?\Z",
    re.I,
)
_LONGEST_REMARK: Final = 120  # characters, with the value before it
_LEADS: Final = word_set(
    """so yes yeah yep yup ok okay right correct exactly indeed sure well anyway once more repeat clear confirm remind
    record reference for the other words like i i've i’ve already earlier told said this it that's that’s asked twice two
    three four five 2 3 4 5 times time now ja wie gesagt erwähnt besprochen vereinbart noch ein mal einmal nochmal
    nochmals zur erinnerung übrigens kurz oui comme dit convenu mentionné je l'ai donc encore une fois pour rappel bref
    sí como dije ya he dicho acordamos otra vez una más por cierto en resumen please kindly just quick gentle friendly note remember reminder fyi be aware that nb ps update recap info again
    also btw by the way heads up heads-up tl dr tl;dr to in short of course as discussed mentioned agreed noted said
    you know before we each every get gets being on email e-mail emails e-mails"""
)
_NEGATED: Final = word_set(
    """not don't doesn't didn't isn't aren't wasn't weren't won't wouldn't shouldn't couldn't can't cannot mustn't
    hasn't haven't hadn't needn't shan't mightn't"""
)
_BULLET: Final = re.compile(r"[-*•]\s+(?=[^\W\d_])")
_ARTICLES: Final = word_set("a an the")
_COUNTED: Final = word_set("few little lot bit couple while")  # "a few" is not "few"
_FILLERS: Final = word_set("please kindly currently presently also btw basically our")
_PHRASES: Final = tuple(
    tuple(phrase.split())
    for phrase in (
        "of course",
        "by the way",
        "at the moment",
        "right now",
        "as discussed",
        "as mentioned",
        "as agreed",
        "as noted",
        "as you know",
    )
)
_PHRASE_STARTS: Final = frozenset(phrase[0] for phrase in _PHRASES)
_RESUMED: Final = re.compile(r", (?:it|they) (?=(?:is|are)\b)", re.I)  # "the report, it is sent"
SYNONYMS: Final = frozenset(
    frozenset(pair.split())
    for pair in (
        "big large",
        "begins starts",
        "begin start",
        "buy purchase",
        "buys purchases",
        "maybe perhaps",
        "until till",
        "email e-mail",
        "emails e-mails",
        "colour color",
        "favourite favorite",
        "nearly almost",
        "wants wishes",
    )
)
NUMBER_WORDS: Final[Mapping[str, str]] = {
    word: str(number)
    for number, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
}
# An s makes another word of these, not their plural.
_NO_PLURAL: Final = word_set(
    "new mean good custom arm second glass right left need work manner spirit wit draught"
)
_WEEKDAYS: Final = word_set("monday tuesday wednesday thursday friday saturday sunday")
_PARTS_OF_DAY: Final = word_set("morning noon afternoon evening night")
_EVERY: Final = "every-"
_BE: Final = word_set("is are")
_IRREGULAR_PARTICIPLES: Final = word_set(
    "bought built done drawn driven given held kept led made met paid read run seen sent set shown sold taken written"
)

# -- What order hinges on ------------------------------------------------------------------------

_OPENERS: Final = word_set(
    "about after at before by during every for from in near on over since to under until with within"
)
# Where one of these stands, the order of the phrases around it may decide what it speaks of.
_SCOPES: Final = word_set(
    """not no never none neither nor only even just except but unless if when while without and or than rather
    because so although then"""
)

# -- Reading -------------------------------------------------------------------------------------

_QUOTED: Final = "\"[^\"\n]+\"|“[^”\n]+”|„[^“”\n]+[“”]|«[^»\n]+»|「[^」\n]+」|`[^`\n]+`|(?<![^\\s(])['‘][^'‘’\n]+['’](?!\\w)"
_PIECE: Final = re.compile(rf"(?P<quoted>{_QUOTED})|(?P<line>[\n\r]+)|(?P<chunk>\S+)")
_WORD: Final = re.compile(r"[(\[]?(?P<word>[^\W\d_]+(?:[-'’][^\W\d_]+)*)['’]?(?P<tail>[)\]]?[.,;:!…。]*)")
_ENDING: Final = re.compile(r"[.;!…。]")
_TAIL: Final = re.compile(r"[.,;:…。]+\Z")
_WIDE: Final = {point: point - 0xFEE0 for point in range(0xFF01, 0xFF5F)}
_CONTRACTED: Final[Mapping[str, str]] = {"can't": "can", "won't": "will", "shan't": "shall"}
_TAILS: Final[Mapping[str, str]] = {"'re": "are", "'ll": "will", "'ve": "have", "'m": "am"}
_SUBJECTS: Final = word_set("it he she that there what who here where")
_ACRONYMS: Final = word_set("IT US WHO OR IN ME AM AT ON")  # in capitals they are not the small words
_CASELESS: Final = re.compile(
    r"[^\W\d_A-Za-z\u00aa-\u058f\u1d00-\u1fff\u2c60-\u2c7f\ua640-\ua7ff\uff21-\uff5a]"
)
_STOP, _COMMA, _PASSIVE = ".", ",", "is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A text as it is compared."""

    tokens: tuple[str, ...]
    variable: frozenset[str] = field(compare=False)  # plain words, which may stand in another form
    is_free: bool = field(compare=False)  # whether its phrases may change places
    passive: tuple[str, ...] | None = field(compare=False, default=None)  # "we do it" as "it is done"


def read_statement(text: str) -> Statement:
    """Read a text for comparison; linear in its length."""
    is_shouted = text.isupper()
    plain = unicodedata.normalize("NFC", text).translate(_WIDE).strip()
    plain = _RESUMED.sub(" ", _without_remark(_without_lead_in(plain)))
    variable: set[str] = set()
    found = list(_tokens(plain, variable, is_shouted=is_shouted))
    tokens = tuple(_without_idle_commas(_with_verbs(_without_fillers(found))))
    is_free = _SCOPES.isdisjoint(tokens) and _STOP not in tokens and not _CASELESS.search(plain)
    return Statement(
        tokens=tokens,
        variable=frozenset(variable),
        is_free=is_free,
        passive=_as_passive(tokens) if is_free else None,
    )


def _without_lead_in(text: str) -> str:
    bullet = _BULLET.match(text)
    start = bullet.end() if bullet else 0
    while (lead := _LEAD_IN.match(text, start)) and lead.end() < len(text):
        start = lead.end()
    return text[start:]


def _without_remark(text: str) -> str:
    """Return a text without a last remark that it was said before, or how often."""
    start = max(0, len(text) - _LONGEST_REMARK)
    counted = _COUNTED_REMARK.search(text, start)
    if counted is not None:
        return text[: counted.end("value")]
    remark = _REMARK.search(text, start)
    return text[: remark.start()] if remark is not None and remark.start() > 0 else text


def _tokens(text: str, variable: set[str], *, is_shouted: bool) -> Iterator[str]:
    """Yield words as they are compared, anything else as it stands, and the stops between."""
    opens = True
    for piece in _PIECE.finditer(text):
        found = piece.group()
        if piece.lastgroup == "quoted":
            yield f'"{found[1:-1]}"'
        elif piece.lastgroup == "line":
            yield _STOP
        elif (word := _WORD.fullmatch(found)) and not (len(word["word"]) == 1 and "!" in word["tail"]):
            yield from _keys(word["word"], variable, opens=opens, is_shouted=is_shouted)
            yield from _stops(word["tail"])
        elif found in "—–":
            yield _COMMA
        else:
            yield from _other_keys(found)
        opens = False


def _stops(tail: str) -> Iterator[str]:
    if _ENDING.search(tail):
        yield _STOP
    elif "," in tail:
        yield _COMMA


def _other_keys(chunk: str) -> Iterator[str]:
    """Yield what is no plain word as it stands, apart from the stop that ends it."""
    tail = _TAIL.search(chunk)
    core = chunk[: tail.start()] if tail else chunk
    if core:
        yield core
    if tail:
        yield from _stops(tail.group()) if core else (chunk,)


def _keys(word: str, variable: set[str], *, opens: bool, is_shouted: bool) -> Iterator[str]:
    """Yield what a word is compared by: one key, or two where it is a contraction."""
    low = word.casefold().replace("’", "'")
    if len(word) == 1:
        yield low if opens or is_shouted or word == "I" else word
    elif word in _ACRONYMS and not is_shouted:
        yield word
    elif low.endswith("n't"):
        yield from (_CONTRACTED.get(low, low[:-3]), "not")
    elif low == "cannot":
        yield from ("can", "not")
    elif "'" in low:
        yield from _uncontracted(low)
    elif word[1:].islower() or word.isupper() or not word[1:].isascii():
        if word.islower() or low.removesuffix("s") in _WEEKDAYS:
            variable.add(low)
        yield low if opens or low != "the" or word != "The" else word
    else:
        yield word  # userName is not username


def _uncontracted(low: str) -> Iterator[str]:
    if low.endswith("'s"):
        base = low[:-2]
        yield base
        if base in _SUBJECTS:
            yield "is"
        return
    for tail, word in _TAILS.items():
        if low.endswith(tail):
            yield from (low.removesuffix(tail), word)
            return
    yield low


def _without_fillers(tokens: Sequence[str]) -> list[str]:
    """Drop articles and fillers, and the commas that set a filler off."""
    kept: list[str] = []
    place, count = 0, len(tokens)
    while place < count:
        token = tokens[place]
        length = _filler_length(tokens, place)
        if length and token not in _ARTICLES:
            is_set_off = bool(kept) and kept[-1] == _COMMA
            if is_set_off:
                kept.pop()
            place += length
            if place < count and tokens[place] == _COMMA and (is_set_off or not kept):
                place += 1
            continue
        if not length:
            kept.append(NUMBER_WORDS.get(token, "every" if token == "each" else token))
        place += 1
    return kept


def _filler_length(tokens: Sequence[str], place: int) -> int:
    """Return how many tokens from a place on say nothing."""
    token = tokens[place]
    following = tokens[place + 1] if place + 1 < len(tokens) else ""
    if token in _ARTICLES:
        return 0 if following in _COUNTED or following in {"", _STOP, _COMMA} else 1
    if token in _FILLERS:
        return 1
    if token == "again" and place and tokens[place - 1] == _COMMA and following in {"", _STOP}:
        return 1
    if token in _PHRASE_STARTS:
        for phrase in _PHRASES:
            if tuple(tokens[place : place + len(phrase)]) == phrase:
                return len(phrase)
    return 0


def _with_verbs(tokens: Sequence[str]) -> Iterator[str]:
    """Write each present passive and each weekday that comes again in one way."""
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        before = tokens[place - 1] if place else ""
        if token in _BE or (token in {"get", "gets"} and _is_participle(following)):
            yield _PASSIVE
        elif token == "every":
            yield "on" if following in _WEEKDAYS else token
        elif (token in _WEEKDAYS and before == "every" and following not in _PARTS_OF_DAY) or (
            token in _PARTS_OF_DAY and tokens[max(0, place - 2) : place] in _EVERY_WEEKDAY
        ):
            yield _EVERY + token
        elif (token, following) != ("on", "every") and not (
            token == "being" and before in _BE and _is_participle(following)
        ):
            yield token


def _is_participle(word: str) -> bool:
    return word.endswith("ed") or word in _IRREGULAR_PARTICIPLES


_EVERY_WEEKDAY: Final = [["every", day] for day in sorted(_WEEKDAYS)]


def _without_idle_commas(tokens: Iterator[str]) -> list[str]:
    """Drop the comma behind a phrase that opens the text and the one before a last "and"; and stops at the ends."""
    kept: list[str] = []
    found = list(tokens)
    while found and found[-1] in {_STOP, _COMMA}:
        found.pop()
    opened = bool(found) and found[0] in _OPENERS
    for token, following in zip(found, chain(found[1:], ("",)), strict=False):
        if token == _COMMA and (opened or following in {"and", "or"}):
            opened = False
            continue
        if token != _STOP or (kept and kept[-1] != _STOP):
            kept.append(token)
    return kept


def _as_passive(tokens: tuple[str, ...]) -> tuple[str, ...] | None:
    """Read "we restore x from y" as "x is restored from y"; regular verbs alone, and none in the past."""
    units = _units(tokens)
    if not units or len(units[0]) < 3 or units[0][0] != "we":
        return None
    _, verb, *thing = units[0]
    participle = verb + ("d" if verb.endswith("e") else "ed")
    return (*thing, _PASSIVE, participle, *chain.from_iterable(units[1:]))


def idle_words() -> Iterator[str]:
    """Yield the words that only one of two texts may have though they say the same."""
    yield from chain(_ARTICLES, _FILLERS, _BE, chain.from_iterable(_PHRASES), _LEADS, _NEGATED)


# -- Comparing -----------------------------------------------------------------------------------


def restates(one: Statement, other: Statement) -> bool:
    """Tell whether two texts say the same in so nearly the same words that one of them suffices."""
    if one.tokens == other.tokens:
        return True
    if _match(one, other, one.tokens, other.tokens):
        return True
    if one.passive is not None and _match(one, other, one.passive, other.tokens):
        return True
    return other.passive is not None and _match(one, other, one.tokens, other.passive)


def _match(one: Statement, other: Statement, mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    if len(mine) != len(theirs):
        return False
    renamed = _renamed(one, other, mine, theirs)
    if renamed is None:
        return False
    return renamed == theirs or (one.is_free and other.is_free and _same_phrases(renamed, theirs))


def _renamed(
    one: Statement, other: Statement, mine: tuple[str, ...], theirs: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return one's tokens in the other's forms; None where a word stands on one side only."""
    if not all(token in one.variable or token.startswith(_EVERY) for token in set(mine).difference(theirs)):
        return None
    ours, yours = Counter(mine), Counter(theirs)
    unmatched, open_ones = ours - yours, yours - ours
    names: dict[str, str] = {}
    for token in sorted(unmatched):
        form = next((form for form in sorted(open_ones) if _are_alike(token, form, one, other)), None)
        if form is None or unmatched[token] != open_ones[form] or unmatched[token] != ours[token]:
            return None
        names[token] = form
        del open_ones[form]
    return tuple(names.get(token, token) for token in mine) if names else mine


def _are_alike(token: str, form: str, one: Statement, other: Statement) -> bool:
    """Tell whether two words are forms of one, or synonyms."""
    if token.startswith(_EVERY) or form.startswith(_EVERY):
        return token.removeprefix(_EVERY) + "s" == form or form.removeprefix(_EVERY) + "s" == token
    if token not in one.variable or form not in other.variable:
        return False
    shorter, longer = sorted((token, form), key=len)
    return _is_plural(shorter, longer) or frozenset((token, form)) in SYNONYMS


def _is_plural(word: str, longer: str) -> bool:
    return len(word) >= 3 and word not in _NO_PLURAL and longer == _plural(word)


def _plural(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _units(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """Split at each word that opens a phrase; the first unit is what comes before, and may be empty."""
    units: list[list[str]] = [[]]
    for place, token in enumerate(tokens):
        if token in _OPENERS and not (place and tokens[place - 1] in _OPENERS):
            units.append([])
        units[-1].append(token)
    return [tuple(unit) for unit in units]


def _same_phrases(mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Tell whether two texts have the same phrases around the same core, at most one of them moved to the front."""
    (core, *units), (other_core, *other_units) = _units(mine), _units(theirs)
    if core and other_core:
        return core == other_core and _same_units(units, other_units)
    if not core and other_core:
        return _is_fronted(other_core, other_units, units)
    return bool(core) and _is_fronted(core, units, other_units)


def _is_fronted(core: tuple[str, ...], units: list[tuple[str, ...]], fronted: list[tuple[str, ...]]) -> bool:
    """Tell whether the units are those of the fronted text, in which one of them stands before the core."""
    if len(units) != len(fronted):
        return False
    for place, unit in enumerate(fronted):
        moved = unit[: -len(core)]
        if unit[-len(core) :] == core and moved in units:
            left = list(units)
            left.remove(moved)
            return _same_units(left, fronted[:place] + fronted[place + 1 :])
    return False


def _same_units(mine: Sequence[tuple[str, ...]], theirs: Sequence[tuple[str, ...]]) -> bool:
    """Tell whether the phrases are the same, those with one preposition in one order."""
    return sorted(mine, key=lambda unit: unit[0]) == sorted(theirs, key=lambda unit: unit[0])
