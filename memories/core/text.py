"""How text becomes something to compare: normal forms, terms, hashes of terms, sentences.

One analysis serves every engine and every comparison, so that a memory is found, folded and ranked alike
wherever it is stored. The rules:

- A term holds letters and digits only. Any punctuation separates; none of it is an operator.
- A compound (`snake_case`, `pre-edit`, `camelCase`, `example.com`) is findable whole and by its parts.
- Scripts written without spaces, and Hangul, are read as single characters and overlapping pairs.
- Every function is linear in its input, hostile input included.
"""

import re
import sys
import threading
import unicodedata
import zlib
from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate

import snowballstemmer

from memories.core.stopwords import ENGLISH, MEANT, NEGATIONS, STOP_WORDS_OF

DEFAULT_LANGUAGE = "english"
HEAD_SENTENCE_LIMIT = 240
ELLIPSIS = "…"


def word_set(listing: str) -> frozenset[str]:
    """Return the words of a listing; lists of words read best as prose."""
    return frozenset(listing.split())


STOP_WORDS = word_set(ENGLISH)

_LONGEST_TERM = 64  # what is longer is cut into pieces of this size
_LONGEST_STEMMED = 40
_SHORTEST_STEMMED_AGAIN = 3  # letters
_LONGEST_CACHED_TOKEN = 64
_LONGEST_MARK_RUN = 30  # Unicode's own bound (UAX #15, stream-safe text)

# -- Character classes ---------------------------------------------------------------------------


def _character_class(code_points: Iterable[int]) -> str:
    """Write code points as the inside of a regular expression's [...]."""
    ranges: list[list[int]] = []
    for point in code_points:
        if ranges and point == ranges[-1][1] + 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


# Where Unicode keeps its combining marks; looking through all planes would cost every start 0.2 s.
_MARK_BLOCKS = (
    (0x0300, 0x1FFF),
    (0x20D0, 0x20FF),
    (0x2CEF, 0x2DFF),
    (0x302A, 0x309A),
    (0xA66F, 0xABFF),
    (0xFB1E, 0xFB1E),
    (0xFE00, 0xFE2F),
    (0x101FD, 0x1037A),
    (0x10A00, 0x11FFF),
    (0x16A00, 0x16FFF),
    (0x1BC9D, 0x1BC9E),
    (0x1CF00, 0x1CF46),
    (0x1D165, 0x1D244),
    (0x1DA00, 0x1E94A),
)
MARKS = _character_class(
    point
    for first, last in _MARK_BLOCKS
    for point in range(first, last + 1)
    if unicodedata.category(chr(point)) in {"Mn", "Mc"}
)
INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_LATIN_GREEK_CYRILLIC = "A-Za-z\u00aa-\u02b8\u0370-\u052f\u1d00-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f\ua640-\ua7ff"
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"  # Hangul
)

_MARK_FLOOD = re.compile(f"([{MARKS}]{{{_LONGEST_MARK_RUN}}})[{MARKS}]+")
_INVISIBLES = re.compile(f"[{INVISIBLE}]")
_ACCENTS = re.compile(f"(?<=[{_LATIN_GREEK_CYRILLIC}])[{MARKS}]+")
_ALL_MARKS = re.compile(f"[{MARKS}]+")
_SEGMENTS = re.compile(
    f"(?P<unspaced>[{_UNSPACED}]+)"
    f"|(?P<compound>(?:(?![{_UNSPACED}])[^\\W_][{MARKS}]*)+"
    f"(?:[-_.'’](?:(?![{_UNSPACED}])[^\\W_][{MARKS}]*)+)*)"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_ASCII_COMPOUNDS = re.compile(r"[A-Za-z0-9]+(?:[-_.'][A-Za-z0-9]+)*")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_LETTERS_OR_DIGITS = re.compile(r"[0-9]+|[^0-9]+")
_CONNECTORS = re.compile(r"[-_.'’]")

# Letters that carry their stroke inside have no decomposition of their own.
_STROKES = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d"}
)
# The Indic blocks share one plan: a vowel sign stands 0x38 behind the vowel's own letter.
_VOWEL_SIGNS = {
    base + sign: base + sign - 0x38
    for base in range(0x0900, 0x0D80, 0x80)
    for sign in range(0x3E, 0x4D)
    if chr(base + sign - 0x38).isalnum()
}
# Arabic letters that are written one for another, and the stroke that only stretches a word.
_ARABIC_VARIANTS = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ـ": None}
)
_PERSIAN_VARIANTS = str.maketrans({"أ": "ا", "إ": "ا", "ٱ": "ا", "ى": "ی", "ي": "ی", "ك": "ک", "ـ": None})
# Portuguese plurals in -ões, and either number typed without its marks.
_PORTUGUESE_ENDING = re.compile(r"(?<=\w\w)([cç]?)(?:[oõ]es|[aã]o)$")
_TAILS_DROPPED = frozenset({"s", "re", "ve", "ll", "d", "m"})
LANGUAGES = tuple(sorted(snowballstemmer.algorithms()))  # those whose stems are known
_ACCENTS_AFTER_STEMMING = frozenset(LANGUAGES) - {"english", "porter", "turkish"}

# -- Normal forms --------------------------------------------------------------------------------


def normalise(text: str) -> str:
    """Return the form under which two texts count as the same: width, case, accents and spacing aside.

    Accents go from Latin, Greek and Cyrillic letters alone; in other scripts a mark is part of the letter.
    """
    if text.isascii():
        return " ".join(text.casefold().split())
    folded = _compose(_INVISIBLES.sub("", text)).casefold()
    return " ".join(_compose(_fold_accents(_compose(folded))).split())


def opening(text: str, *, limit: int) -> str:
    """Return as much of a text's beginning as has at most `limit` characters once it is composed.

    One character may stand for eighteen: what a text is allowed to be says little of what it costs to read.
    """
    if text.isascii():
        return text[:limit]
    if len(_compose(text)) <= limit:
        return text
    ends = accumulate(len(unicodedata.normalize("NFKC", character)) for character in text)
    return text[: next((at for at, end in enumerate(ends) if end > limit), len(text))]


def content_hash(text: str) -> str:
    """Return what identifies a text's content: SHA-256 of its normal form, in hex."""
    return sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()


def _compose(text: str) -> str:
    # Sorting an endless run of marks is quadratic inside `unicodedata`, so no run may be endless.
    return text if text.isascii() else unicodedata.normalize("NFKC", _MARK_FLOOD.sub(r"\1", text))


def _fold_accents(text: str) -> str:
    if text.isascii():
        return text
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text)).translate(_STROKES)
    return unicodedata.normalize("NFC", bare)


# -- Terms ---------------------------------------------------------------------------------------


def terms(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the text's index terms, in order and with repetition, stop words included.

    Args:
        text: anything; what is neither letter nor digit separates.
        language: a snowball algorithm's name; any other leaves words unstemmed.
    """
    found: list[str] = []
    for token in text.split():
        if len(token) <= _LONGEST_CACHED_TOKEN:
            found += _cached_terms(token, language)
        else:
            found += (term for term, _ in _analyse(token, language))
    return found


def content_terms(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the terms that carry meaning: `terms` without the stop words of the language, and of English."""
    dropped = stop_terms(language)
    return [term for term in terms(text, language) if term not in dropped]


def term_words(text: str, language: str = DEFAULT_LANGUAGE) -> dict[str, str]:
    """Return for each term the lower-cased word of the text that it first came from."""
    words: dict[str, str] = {}
    for token in text.split():
        analyse = _cached_pairs if len(token) <= _LONGEST_CACHED_TOKEN else _analyse
        for term, word in analyse(token, language):
            words.setdefault(term, word)
    return words


def join_grams(words: Iterable[str]) -> list[str]:
    """Put the grams of unspaced scripts together again, so that a reader sees runs and not their pieces.

    Args:
        words: some of `term_words`, in its order.
    Returns: the words, each once; consecutive grams as the run that they cover.
    """
    joined: list[str] = []
    in_run = False
    for word in words:
        is_gram = len(word) <= 2 and _UNSPACED_RUN.fullmatch(word) is not None
        if not (is_gram and in_run and joined[-1][-1] == word[0]):
            joined.append(word)
        elif len(word) == 2:
            joined[-1] += word[1]
        in_run = is_gram
    return list(dict.fromkeys(joined))


@lru_cache(maxsize=32_768)
def _cached_terms(token: str, language: str) -> tuple[str, ...]:
    return tuple(term for term, _ in _analyse(token, language))


@lru_cache(maxsize=4_096)
def _cached_pairs(token: str, language: str) -> tuple[tuple[str, str], ...]:
    return tuple(_analyse(token, language))


def _analyse(token: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield (term, word) for each term of a text without white space."""
    if token.isascii():
        for compound in _ASCII_COMPOUNDS.findall(token):
            yield from _compound_pairs(compound, language)
        return
    for segment in _SEGMENTS.finditer(_compose(_INVISIBLES.sub("", token))):
        if segment.lastgroup == "unspaced":
            yield from ((gram, gram) for gram in _grams(segment.group()))
        else:
            yield from _compound_pairs(segment.group(), language)


def _grams(run: str) -> Iterator[str]:
    """Yield each character of a run, each followed by the pair that it opens."""
    characters = [character for character in run.lower() if character.isalnum()]
    for index, character in enumerate(characters):
        yield character
        if index + 1 < len(characters):
            yield character + characters[index + 1]


def _compound_pairs(compound: str, language: str) -> Iterator[tuple[str, str]]:
    for word, shown in _compound_words(compound):
        for start in range(0, len(word), _LONGEST_TERM):
            term = _term(word[start : start + _LONGEST_TERM], language)
            if term:
                yield term, shown[start : start + _LONGEST_TERM].lower() or term


def _compound_words(compound: str) -> Iterator[tuple[str, str]]:
    """Yield (word, its form in the text): a compound whole, where it is short enough, and its parts."""
    parts = _CONNECTORS.split(compound)
    if len(parts) == 2 and ("'" in compound or "’" in compound):
        tail = parts[1].lower()
        if tail in _TAILS_DROPPED:  # Ana's, we're
            del parts[1]
        elif tail == "t":  # don't
            yield "".join(parts), compound
            return
    if len(parts) > 1 and len(compound) <= _LONGEST_TERM:
        yield _joined(parts), compound
    for part in parts:
        yield part, part
        if len(part) <= _LONGEST_TERM:
            yield from ((word, word) for word in _inner_words(part))


def _joined(parts: list[str]) -> str:
    """Join parts into one word; between digits a separator leaves a letter, so that 1.23 is not 12.3."""
    whole = parts[0]
    for part in parts[1:]:
        between_digits = whole[-1:].isdigit() and part[:1].isdigit()
        whole += ("d" if between_digits else "") + part
    return whole


def _inner_words(part: str) -> list[str]:
    """Split `camelCase` at its humps and `10ms` between number and unit; a plain word has no parts."""
    if part.islower() or part.isupper() or part.istitle():
        pieces = _LETTERS_OR_DIGITS.findall(part)
        return pieces if len(pieces) == 2 else []
    humps = _HUMPS.findall(part)
    return humps if len(humps) > 1 else []


def _term(word: str, language: str) -> str:
    if word.isascii() and not word.isalpha():
        return word.lower()
    return _stem(word.lower(), language)


@lru_cache(maxsize=65_536)
def _stem(word: str, language: str) -> str:
    if not word.isascii():
        word = word.translate(_PERSIAN_VARIANTS if language == "persian" else _ARABIC_VARIANTS)
    if language not in _ACCENTS_AFTER_STEMMING:
        return _snowball(_bare(word), language)
    if language == "portuguese":
        word = _PORTUGUESE_ENDING.sub(_portuguese_singular, word)
    bare = _bare(_snowball(word, language))  # their rules read accents: Russian -ый, French -é
    # So that a word finds itself typed without its accents, whose stem may be shorter.
    is_short = len(bare) <= _SHORTEST_STEMMED_AGAIN
    return _snowball(bare, language) if bare.isascii() and not (word.isascii() or is_short) else bare


def _portuguese_singular(ending: re.Match[str]) -> str:
    return "ção" if ending[1] else "ão"


def _bare(word: str) -> str:
    if word.isascii():
        return word
    folded = _fold_accents(word.casefold()).translate(_VOWEL_SIGNS)
    return "".join(character for character in folded if character.isalnum())


def _snowball(word: str, language: str) -> str:
    stemmer = _stemmer(language)
    if stemmer is None or len(word) > _LONGEST_STEMMED:
        return word
    with _STEMMING:
        return str(stemmer.stemWord(word))


_STEMMING = threading.Lock()  # a snowball stemmer keeps the word it works on in itself


@lru_cache(maxsize=64)
def _stemmer(language: str) -> "snowballstemmer.stemmer | None":
    return snowballstemmer.stemmer(language) if language in snowballstemmer.algorithms() else None


@lru_cache(maxsize=64)
def stop_terms(language: str) -> frozenset[str]:
    """Return the terms that are left out where a language is spoken; English words are everywhere among them."""
    meant = word_set(MEANT.get(language, ""))
    dropped = (STOP_WORDS | word_set(STOP_WORDS_OF.get(language, ""))) - meant
    kept = {_stem(word, language) for word in meant | word_set(NEGATIONS.get(language, ""))}
    return (dropped | {_stem(word, language) for word in dropped}) - kept


# -- Hashes of terms -----------------------------------------------------------------------------


def term_hash(term: str) -> int:
    """Return the term's stable 32-bit number."""
    return zlib.crc32(term.encode())


def hash_terms(found: Iterable[str], language: str = DEFAULT_LANGUAGE) -> frozenset[int]:
    """Return the set of numbers by which two texts are compared; stop words of the language do not count."""
    return frozenset(term_hash(term) for term in set(found) - stop_terms(language))


def pack_hashes(hashes: frozenset[int]) -> bytes:
    """Return the numbers as sorted little-endian uint32, four bytes each."""
    numbers = array("I", sorted(hashes))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpack_hashes(packed: bytes) -> frozenset[int]:
    """Read what `pack_hashes` wrote.

    Raises: ValueError if the bytes are not whole numbers of four.
    """
    numbers = array("I")
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    return frozenset(numbers)


# -- Sentences -----------------------------------------------------------------------------------

_CLOSERS = "\"'”’»)\\]」』）】*_"
_BOUNDARY = re.compile(
    f"(?P<line>[\\n\\r\u2028\u2029\x0b\x0c]+)"
    f"|(?P<wide>[。！？｡।॥؟۔]+[{_CLOSERS}]*)"
    f"|(?P<stop>[.!?…]+[{_CLOSERS}]*)(?=\\s|$)"
)
_WORD_BEFORE_STOP = re.compile(r"[^\W_]+(?:\.[^\W_]+)*$")
_ABBREVIATIONS = word_set(
    "mr mrs ms mx dr prof st mt rev hon gen col capt lt sgt vs cf e.g i.e z.b d.h viz approx dept est ph.d bzw ca ggf inkl evtl fr hr dra sra srta mme mlle aprox"
)
# What German counts with an ordinal, and its abbreviations of two letters with a space between.
_COUNTED = re.compile(
    r"\s(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert|Quartal|Stock)\b"
)
_SPACED_ABBREVIATION = re.compile(r"(?:^|\s|\()[zdiu]$")
_SPANISH_TITLE = re.compile(r"(?:^|\s)(?:[Ee]l|al|del|un|y)\sSr$")
_CAPITAL_STOP = re.compile(r"\s[A-ZÄ]\.")
_BEFORE_A_NUMBER = word_set(
    "no nos nr fig figs eq vol pp p art sec ch jan feb mar apr jun jul aug sep sept oct nov dec"
)
_BEFORE_A_SMALL_LETTER_ONLY = word_set("etc inc ltd co corp jr sr a.m p.m u.s u.k")


def sentences(text: str) -> list[str]:
    """Split a text into its sentences; only white space between them is lost."""
    return list(_each_sentence(text))


def head_sentence(text: str, limit: int = HEAD_SENTENCE_LIMIT) -> str:
    """Return the first sentence, on one line, cut at a word where it is longer than the limit.

    Args:
        limit: in columns; a wide character (CJK, most emoji) takes two.
    """
    first = next(_each_sentence(text), "")
    return _cut_to_width(" ".join(first.split()), limit)


def _each_sentence(text: str) -> Iterator[str]:
    start = 0
    for boundary in _BOUNDARY.finditer(text):
        if boundary.lastgroup == "stop" and not _ends_sentence(text, start, boundary):
            continue
        sentence = text[start : boundary.end()].strip()
        start = boundary.end()
        if sentence:
            yield sentence
    if rest := text[start:].strip():
        yield rest


def _ends_sentence(text: str, start: int, stop: re.Match[str]) -> bool:
    if not stop.group().startswith(".") or stop.group().startswith(".."):
        return True
    following = text[stop.end() : stop.end() + 8].lstrip()[:1]
    if following.islower() or _runs_on(text, stop):
        return False
    before = text[max(start, stop.start() - 16) : stop.start()]
    word = _WORD_BEFORE_STOP.search(before)
    if word is None:
        return True
    return not _is_abbreviation(word.group(), following, opens_line=before.strip() == word.group())


def _runs_on(text: str, stop: re.Match[str]) -> bool:
    """Tell whether a stop stands in "am 3. Mai", in "el Sr. García" or in "z. B."."""
    before, behind = text[max(0, stop.start() - 8) : stop.start()], text[stop.end() : stop.end() + 16]
    if before[-1:].isdigit():
        return _COUNTED.match(behind) is not None
    if _SPANISH_TITLE.search(before):
        return True
    return _SPACED_ABBREVIATION.search(before) is not None and _CAPITAL_STOP.match(behind) is not None


def _is_abbreviation(word: str, following: str, *, opens_line: bool) -> bool:
    lowered = word.lower()
    if opens_line and len(word) <= 3 and (word.isdigit() or (len(word) == 1 and word.isalpha())):
        return True  # "1." and "a." number a list item
    if lowered in _BEFORE_A_NUMBER:
        return following.isdigit()
    if lowered in _BEFORE_A_SMALL_LETTER_ONLY:
        return False
    return lowered in _ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I")


def _cut_to_width(text: str, limit: int) -> str:
    if len(text) * 2 <= limit or _width(text) <= limit:
        return text
    room = limit - len(ELLIPSIS)
    end = 0
    for end, character in enumerate(text):  # noqa: B007  the index outlives the loop on purpose
        room -= _character_width(character)
        if room < 0:
            break
    while end and unicodedata.category(text[end]) in {"Mn", "Mc", "Cf"}:
        end -= 1
    head = text[:end]
    if not text[end].isspace() and " " in head:
        spaced = head[: head.rindex(" ")]
        head = spaced if len(spaced) * 2 >= len(head) else head
    return head.rstrip() + ELLIPSIS if limit > 0 else ""


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
