"""How many tokens a text costs: a sum over its words, fitted once per tokenizer family.

The estimate holds for every script and errs upwards. A text is cut at its blanks; what stands between two blanks
is cut into pieces (a word with the marks before it, a number, a run of marks, a run of another script), and each
piece has features whose weights add up. The weights are fitted on real tokenizers by `bench/fit_tokens.py`.
Costs of short stretches are remembered, so that most of a text is looked up; a new one takes linear time, however
hostile. Since costs add up, the lines of a pack cost together what they cost one by one.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from operator import ne
from typing import Final

from contextpack.core.frequent import FREQUENT, WHOLE
from contextpack.core.types import ModelProfile


class TokenFamily(StrEnum):
    """Tokenizers that split alike."""

    CL100K = "cl100k"  # GPT-3.5 and GPT-4; the larger of the GPT families, so also where the model is unknown
    O200K = "o200k"  # GPT-4o, the o series and newer
    CLAUDE_3 = "claude_3"  # Claude 3 to 4.6
    CLAUDE_4_8 = "claude_4_8"  # Claude 4.7 and newer


# Tokens per feature.
WEIGHTS: Final[Mapping[str, tuple[float, float, float, float]]] = {
    "whole": (0.77, 0.90, 0.73, 1.03),
    "frequent": (0.97, 0.90, 1.11, 1.97),
    "strange": (0.91, 0.59, 1.08, 1.12),
    "piece": (0.68, 0.47, 0.65, 0.32),
    "letter": (0.04, 0.11, 0.05, 0.42),
    "inside": (0.13, 0.13, 0.03, 0.01),
    "title": (0.01, 0.01, 0.32, 0.61),
    "strange_title": (0.01, 0.10, 0.47, 0.52),
    "tail": (1.47, 0.29, 1.26, 0.91),
    "capitals": (0.01, 0.01, 0.01, 1.44),
    "strange_capitals": (1.66, 1.66, 2.18, 2.32),
    "capital": (0.35, 0.35, 0.35, 0.58),
    "mixed": (0.64, 0.70, 0.83, 1.01),
    "mixed_letter": (0.68, 0.63, 0.85, 0.92),
    "three_digits": (1.11, 1.08, 1.04, 1.09),
    "number_start": (0.55, 0.63, 0.79, 0.61),
    "marks": (0.89, 0.94, 0.85, 1.02),
    "mark_before_word": (0.49, 0.60, 0.97, 0.96),
    "mark_before_number": (0.97, 0.98, 1.29, 1.18),
    "more_marks": (0.06, 0.07, 0.05, 0.27),
    "blank": (0.06, 0.03, 0.17, 0.23),
    "break": (0.94, 0.97, 1.17, 1.09),
    "more_breaks": (0.20, 0.20, 0.20, 0.20),
    "cyrillic_word": (1.10, 0.84, 0.24, 0.23),
    "arabic_word": (0.36, 0.29, 0.01, 0.01),
    "devanagari_word": (0.84, 0.01, 0.01, 0.01),
    "accented": (0.05, 0.01, 0.01, 0.01),
    "umlaut": (0.01, 0.01, 0.01, 0.01),
    "latin_extended": (0.56, 0.38, 0.12, 0.01),
    "vietnamese": (0.31, 0.01, 0.66, 0.53),
    "cyrillic": (0.40, 0.25, 0.48, 0.49),
    "cyrillic_other": (2.47, 0.50, 0.79, 0.76),
    "greek": (1.05, 0.44, 0.80, 0.80),
    "hebrew": (1.33, 0.48, 0.90, 0.90),
    "caucasian": (2.14, 0.39, 0.82, 0.82),
    "arabic": (0.78, 0.30, 0.82, 0.82),
    "arabic_other": (2.58, 1.61, 2.09, 2.04),
    "devanagari": (1.07, 0.44, 0.94, 0.94),
    "bengali": (1.51, 0.47, 1.23, 1.22),
    "thai": (0.99, 0.44, 1.01, 1.01),
    "southeast": (2.05, 0.62, 1.21, 1.21),
    "han_common": (0.85, 0.67, 1.12, 1.11),
    "han": (2.66, 1.69, 1.71, 1.69),
    "kana": (0.92, 0.63, 0.81, 0.80),
    "hangul": (1.30, 0.83, 1.45, 1.44),
    "wide_mark": (0.08, 0.10, 0.64, 0.65),
    "mark": (1.45, 1.53, 1.39, 1.05),
    "symbol": (1.90, 1.60, 2.18, 1.93),
    "astral": (3.00, 2.00, 3.70, 3.90),
    "other": (2.90, 2.60, 2.90, 2.90),
    "gurmukhi": (2.02, 0.71, 2.53, 2.53),
    "gujarati": (2.01, 0.51, 1.16, 1.14),
    "oriya": (2.97, 1.21, 1.96, 1.95),
    "tamil": (1.56, 0.39, 0.93, 0.93),
    "telugu": (2.02, 0.52, 1.07, 1.06),
    "kannada": (2.01, 0.46, 2.07, 2.07),
    "malayalam": (1.88, 0.42, 1.32, 1.33),
    "sinhala": (2.19, 0.67, 1.13, 1.14),
    "cyrillic_far": (4.26, 1.67, 3.73, 3.71),
    "lao": (1.75, 0.63, 1.75, 1.75),
    "tibetan": (2.12, 1.62, 1.39, 1.39),
    "ethiopic": (2.90, 2.60, 2.90, 2.90),
    "persian": (0.74, 0.30, 0.69, 0.72),
    "mark_start": (0.04, 0.01, 0.01, 0.01),
    "combining": (1.25, 1.11, 0.48, 0.01),
}

# Where each class begins; a range reaches to the next row. What is too small for a row is "other".
_RANGES: Final[Sequence[tuple[int, str]]] = (
    (0x0080, "mark"),
    (0x00C0, "accented"),
    (0x0100, "latin_extended"),
    (0x02B0, "other"),
    (0x0300, "combining"),
    (0x0370, "greek"),
    (0x0400, "cyrillic_other"),
    (0x0410, "cyrillic"),
    (0x0450, "cyrillic_other"),
    (0x0460, "cyrillic_far"),
    (0x0530, "caucasian"),
    (0x0590, "hebrew"),
    (0x0600, "arabic_other"),
    (0x0621, "arabic"),
    (0x0653, "arabic_other"),
    (0x0700, "other"),
    (0x0900, "devanagari"),
    (0x0980, "bengali"),
    (0x0A00, "gurmukhi"),
    (0x0A80, "gujarati"),
    (0x0B00, "oriya"),
    (0x0B80, "tamil"),
    (0x0C00, "telugu"),
    (0x0C80, "kannada"),
    (0x0D00, "malayalam"),
    (0x0D80, "sinhala"),
    (0x0E00, "thai"),
    (0x0E80, "lao"),
    (0x0F00, "tibetan"),
    (0x1000, "southeast"),
    (0x10A0, "caucasian"),
    (0x1100, "other"),
    (0x1200, "ethiopic"),
    (0x1400, "other"),
    (0x1780, "southeast"),
    (0x1800, "other"),
    (0x1E00, "vietnamese"),
    (0x1F00, "greek"),
    (0x2000, "mark"),
    (0x2070, "symbol"),
    (0x20AC, "mark"),
    (0x20AD, "symbol"),
    (0x2E00, "other"),
    (0x3000, "wide_mark"),
    (0x3040, "kana"),
    (0x3100, "other"),
    (0x3400, "han"),
    (0xA000, "other"),
    (0xAC00, "hangul"),
    (0xD7A4, "other"),
    (0xF900, "han"),
    (0xFB00, "other"),
    (0xFE00, "symbol"),
    (0xFE10, "other"),
    (0xFF00, "wide_mark"),
    (0xFFF0, "other"),
    (0x10000, "astral"),
)
_UMLAUTS: Final = "äöüÄÖÜåÅæÆøØß"
_PERSIAN: Final = "پچژکگی"
# Han that byte-pair vocabularies hold whole; any other is spelt in two or three pieces.
_COMMON_HAN: Final = (
    "一万三上下不与专业东两个中串为主么义之也书了事二于五些交产享京人亿今介从他付代以们件价任份企优会传但"
    "位体何余作你使例供価保信修倍值停像元先入全公共关其具内円册再写出击分列则初利别到制前力功加务动動包化"
    "北区十午华单南即历原去县参及友反发取变口只可台右号司合同名后向否含听启告员周命和品哈商問器四回因国图"
    "土在地场址型城基報場填增声处备复外多大天失头女好如始子字存学安宋完定实审客家容密对导将小少尔就局展山"
    "岁州工左已市布常平年并广序库应店度建开异式引张当录形影径待後得微心必志态思性总息您情意感成我或户所手"
    "打找技投报拉持指按换据排接推提播支收改放政效数整文料断新方族无日时明易星是時景更最月有服期木未本机权"
    "束条来板构析果查标样核格案检模次款止正此步歳段每比民気水求江汽没治法注活流海消清游源火点無然片版物特"
    "率环现球理生用由电男画界番登的监目直相省看県真知码确示社票私种科秒称移程稍税稿空立站章端笑符第等签简"
    "算管箱米类系素索约级线组经结给络统编网置美老考者而联能自至色节英藏行表装西要見见规视角解言計記話読计"
    "认议记论设证评试话询该详语误说请读调象责败账货购费资起超路身车转软载辑输达过运近还这进连述退送选通速"
    "造連道邮部都配释里重量金钟钮链销错键长開間関门闭问间队阳陆限院除雅集雷需非面音页项预频题额首验高黑"
)

_STARTS: Final = tuple(start for start, _ in _RANGES)
_CACHED_LENGTH: Final = 40  # longer stretches are no single words
_CACHED: Final = 32_768  # no text, however hostile, makes a table grow past this

_LATIN: Final = "A-Za-z\u00c0-\u02af\u1e00-\u1eff"
_MARKS: Final = r"!-/:-@\[-`{-~"
_PIECES: Final = re.compile(rf"[{_MARKS}]*+[{_LATIN}0-9]+|[{_MARKS}]+|[\x00-\x20\x7f]+|[^\x00-\x7f{_LATIN}]+")
_RUNS: Final = re.compile(rf"[0-9]+|[{_LATIN}]+")
_HUMPS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+")
_ASCII_MARKS: Final = "".join(chr(point) for point in range(0x21, 0x7F) if not chr(point).isalnum())
_SPACED: Final = frozenset({"cyrillic", "arabic", "devanagari"})
_ZEROS: Final = bytes(ord("0") if 0x30 <= byte <= 0x39 else byte for byte in range(256))
_TAILS: Final = frozenset({"'s", "'t", "'m", "'d", "'re", "'ve", "'ll"})
_LONGEST_START: Final = 10  # letters
_LONG_WORD: Final = 18  # letters
_MOST_HUMPS: Final = 12
_LONGEST_IDIOM: Final = 4  # marks

Feature = tuple[str, float]


def estimate_tokens(text: str, family: TokenFamily = TokenFamily.CL100K) -> int:
    """Estimate what a text costs in tokens; 0 for the empty text alone.

    Args:
        text: anything, lone surrogates included.
        family: the tokenizer that will read it.
    Returns: within 10 % of the tokenizer on prose, and not under it by more in any script.
    """
    if not text:
        return 0
    cost: float = sum(map(_COSTS[family].__getitem__, _stretches(text)))
    return math.ceil(cost)


def features(text: str) -> Iterator[Feature]:
    """Yield what a text is made of, as (feature, how often); the estimate is their weighted sum."""
    for stretch in _stretches(text):
        yield from _opening(stretch)
        yield from chain.from_iterable(map(_piece_features, _PIECES.findall(stretch)))


def _stretches(text: str) -> list[str]:
    """Cut a text at its blanks, behind each line break, and around what JSON puts between two strings.

    Every digit is made a zero: none costs more than another, so refs and dates are looked up, too.
    """
    text = text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")
    if "\n" in text:
        text = text.replace("\n", "\n ")
    if '":"' in text:
        text = text.replace('":"', ' ":" ').replace('","', ' "," ')
    return text.split(" ")


def _opening(stretch: str) -> Iterator[Feature]:
    """Yield what the blank before a stretch does: before a number, or before nothing, it is a token itself."""
    if not stretch:
        yield "blank", 1
    elif stretch[0] == "0":
        yield "number_start", 1
    elif stretch[0] in _ASCII_MARKS:
        yield "mark_start", 1


def _piece_features(piece: str) -> Iterator[Feature]:
    body = piece.lstrip(_ASCII_MARKS)
    marks = len(piece) - len(body)
    if marks > 1:
        yield "more_marks", _changes(piece[:marks])
    if not body:
        yield "marks", 1
    elif piece in _TAILS:
        yield "tail", 1
    elif _RUNS.match(body):
        if marks:
            yield "mark_before_number" if body[0] == "0" else "mark_before_word", 1
        yield from _body_features(body, inside=marks > 0)
    elif body[0].isascii():
        yield "break", 1
        yield "more_breaks", len(body) - 1
    else:
        script = _CLASSES[body[0]]
        if script in _SPACED:
            yield f"{script}_word", 1
        yield from Counter(map(_CLASSES.__getitem__, body)).items()


def _changes(marks: str) -> int:
    """Count what a run of marks costs beyond its first: each change, most where no idiom of code is so long.

    Rules and dots are held in eights.
    """
    changes: int = sum(map(ne, marks, marks[1:]))
    return changes + 5 * max(0, changes - _LONGEST_IDIOM) + len(marks) // 8


def _body_features(body: str, *, inside: bool) -> Iterator[Feature]:
    """Yield the features of letters and digits that stand together."""
    runs = _RUNS.findall(body)
    numbers = [len(run) for run in runs if run[0] == "0"]
    if numbers:
        yield "three_digits", sum((length + 2) // 3 for length in numbers)
    words = len(runs) - len(numbers)
    if words and numbers:  # hex, base64, names of machines
        yield "mixed", words
        yield "mixed_letter", len(body) - sum(numbers) - words
    elif words:
        yield from _word_features(body, inside=inside)


def _word_features(word: str, *, inside: bool) -> Iterator[Feature]:
    if len(word) > 1 and word.isupper():
        yield "capitals" if word.lower() in FREQUENT else "strange_capitals", 1
        yield "capital", len(word) - 1 + max(0, len(word) - _LONG_WORD // 2)
        return
    if not (word.islower() or word[1:].islower() or len(word) == 1):
        humps = _HUMPS.findall(word)
        if len(humps) > _MOST_HUMPS:  # base64
            yield "mixed", len(humps)
            yield "mixed_letter", len(word) - len(humps)
            return
        if len(humps) > 1:
            for place, hump in enumerate(humps):
                yield from _word_features(hump, inside=inside or place > 0)
            return
    if inside:
        yield "inside", 1
    lowered = word.lower()
    title = lowered != word
    if title:
        yield "title", 1
    if lowered in WHOLE:
        yield "whole", 1
    elif lowered in FREQUENT:
        yield "frequent", 1
    else:
        yield from _strange_features(lowered, title=title)


def _strange_features(word: str, *, title: bool) -> Iterator[Feature]:
    """Yield the features of a word that tokenizers spell: its longest known starts, and its letters."""
    yield "strange", 1
    if title:
        yield "strange_title", 1
    first = _known_start(word, 0)
    yield "letter", len(word) - first
    yield "piece", _pieces_after(word, first)
    if not word.isascii():
        yield from Counter(_CLASSES[letter] for letter in word if letter > "\x7f").items()


def _pieces_after(word: str, at: int) -> float:
    """Count the pieces from a place on; what is longer than words are is no word, and spelt in ones and twos."""
    pieces: float = 0
    while at < min(len(word), _LONG_WORD):
        at += _known_start(word, at)
        pieces += 1
    return pieces + 0.75 * (len(word) - at)


def _known_start(word: str, at: int) -> int:
    """Return the length of the longest start of `word[at:]` that is frequent, or 1."""
    for end in range(min(len(word), at + _LONGEST_START), at + 1, -1):
        if word[at:end] in FREQUENT:
            return end - at
    return 1


class _Classes(dict[str, str]):
    """Character → feature, worked out when first met."""

    def __missing__(self, character: str) -> str:
        found = _RANGES[bisect_right(_STARTS, ord(character)) - 1][1]
        if len(self) < _CACHED:
            self[character] = found
        return found


class _Table(dict[str, float]):
    """Stretch or piece → its cost; short ones are kept, and all are dropped when there are too many."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        super().__init__()
        self._weights = weights

    def _sum(self, found: Iterator[Feature]) -> float:
        return sum(self._weights[feature] * times for feature, times in found)

    def _keep(self, key: str, cost: float) -> float:
        if len(key) <= _CACHED_LENGTH:
            if len(self) >= _CACHED:
                self.clear()
            self[key] = cost
        return cost


class _Pieces(_Table):
    def __missing__(self, piece: str) -> float:
        return self._keep(piece, self._sum(_piece_features(piece)))


class _Stretches(_Table):
    def __init__(self, weights: Mapping[str, float]) -> None:
        super().__init__(weights)
        self._pieces = _Pieces(weights)

    def __missing__(self, stretch: str) -> float:
        pieces = sum(map(self._pieces.__getitem__, _PIECES.findall(stretch)))
        return self._keep(stretch, self._sum(_opening(stretch)) + pieces)


_CLASSES: Final = _Classes(
    {
        **dict.fromkeys(_UMLAUTS, "umlaut"),
        **dict.fromkeys(_PERSIAN, "persian"),
        **dict.fromkeys(_COMMON_HAN, "han_common"),
    }
)
_COSTS: Final[Mapping[TokenFamily, _Stretches]] = {
    family: _Stretches({feature: weights[place] for feature, weights in WEIGHTS.items()})
    for place, family in enumerate(TokenFamily)
}


_O200K_MODEL: Final = re.compile(r"(?<![^\W_])(?:gpt-?(?:4o|4\.[1-9]|[5-9])|o[1-9])(?![^\W_])")
_GPT_MODEL: Final = re.compile(r"(?<![^\W_])(?:gpt|chatgpt|openai)(?![^\W_])")
_CLAUDE_MODEL: Final = re.compile(r"(?<![^\W_])(?:claude|anthropic|sonnet|opus|haiku)(?![^\W_])")
_VERSION: Final = re.compile(r"(?<![\d.])(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


def family_of(profile: ModelProfile, model: str | None) -> TokenFamily:
    """Say which tokenizer reads a pack; of several that may, the one that needs more tokens.

    Args:
        profile: decides where the model's name tells nothing. Editors run Claude and GPT models alike.
        model: the request's free text.
    """
    name = (model or "").casefold()
    if _CLAUDE_MODEL.search(name):
        return _claude_family(name)
    if _O200K_MODEL.search(name):
        return TokenFamily.O200K
    if _GPT_MODEL.search(name) or profile.name not in {"claude", "cursor"}:
        return TokenFamily.CL100K
    return TokenFamily.CLAUDE_3


def _claude_family(name: str) -> TokenFamily:
    version = _VERSION.search(name)
    if version and (int(version[1]), int(version[2] or 0)) >= (4, 7):
        return TokenFamily.CLAUDE_4_8
    return TokenFamily.CLAUDE_3
