"""How many tokens a text costs: a small linear count of features, fitted once per tokenizer family.

The estimate holds for every script and errs upwards. One pass writes each character's class into a byte; what
spans characters (words, runs, word endings) is then read off whole-text bit masks, so that a text costs linear
time, however hostile. The weights are fitted on real tokenizers for the GPT families; for the Claude
families the non-Latin weights are at least those of `cl100k`.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from contextpack.core.types import ModelProfile
from memories.core.text import STOP_WORDS


class TokenFamily(StrEnum):
    """Tokenizers that split alike."""

    CL100K = "cl100k"  # GPT-3.5 and GPT-4; the larger of the GPT families, so also where the model is unknown
    O200K = "o200k"  # GPT-4o, the o series and newer
    CLAUDE_3 = "claude_3"  # Claude 3 to 4.6
    CLAUDE_4_8 = "claude_4_8"  # Claude 4.8 and newer


# Tokens per feature.
_WEIGHTS: Final[Mapping[str, tuple[float, float, float, float]]] = {
    # Columns: cl100k, o200k, Claude 3 to 4.6, Claude 4.8 and newer.
    "word": (0.99, 0.95, 0.88, 1.18),  # a run of ASCII letters
    "long": (0.10, 0.10, 0.36, 0.66),  # each letter of a word beyond the fifth
    "strange_word": (1.02, 0.88, 1.02, 1.20),  # the same in a text that is not English
    "strange_long": (0.46, 0.31, 0.50, 0.80),
    "strange_ending": (0.95, 0.90, 0.95, 0.95),  # there, a word in -a, -i, -o, -u, -an, -en
    "capital": (0.40, 0.37, 0.40, 0.64),  # each capital inside a word
    "joint": (0.75, 0.72, 0.75, 0.75),  # letter meets digit: hex, refs, base64
    "digits": (1.48, 1.42, 1.59, 1.57),  # a run of digits
    "more_digits": (0.46, 0.47, 0.46, 0.46),  # each digit of a run beyond the third
    "marks": (0.67, 0.76, 0.67, 1.02),  # a run of ASCII punctuation
    "more_marks": (0.17, 0.17, 0.36, 0.19),  # each further one
    "spaces": (0.87, 0.90, 1.14, 0.94),  # a run of two or more blanks
    # Each character of:
    "accented": (1.15, 0.90, 1.15, 1.15),
    "umlaut": (1.20, 0.70, 1.20, 1.20),
    "latin_extended": (1.45, 1.07, 1.45, 1.45),
    "vietnamese": (0.10, 0.10, 0.40, 0.40),
    "cyrillic": (0.64, 0.38, 0.64, 0.64),
    "cyrillic_other": (2.40, 0.90, 2.40, 2.40),
    "greek": (1.08, 0.46, 1.08, 1.08),
    "hebrew": (1.23, 0.46, 1.23, 1.23),
    "caucasian": (2.20, 0.44, 2.20, 2.20),
    "arabic": (0.92, 0.41, 0.92, 0.92),
    "arabic_other": (1.60, 0.50, 1.60, 1.60),
    "devanagari": (1.27, 0.42, 1.27, 1.27),
    "bengali": (1.54, 0.46, 1.54, 1.54),
    "indic": (1.96, 0.48, 1.96, 1.96),
    "thai": (1.06, 0.47, 1.06, 1.06),
    "southeast": (1.75, 0.63, 1.75, 1.75),
    "han_common": (0.85, 0.66, 0.90, 0.95),
    "han": (2.45, 1.32, 2.45, 2.45),
    "kana": (0.97, 0.78, 0.97, 0.97),
    "hangul": (1.30, 0.83, 1.43, 1.43),
    "wide_mark": (1.05, 0.95, 1.05, 1.05),
    "mark": (1.45, 1.10, 1.45, 1.45),  # dashes, curly quotes
    "symbol": (1.90, 1.60, 2.18, 1.93),
    "astral": (3.00, 2.00, 3.00, 3.00),  # emoji and what else lies beyond the first plane
    "other": (2.90, 2.60, 2.90, 2.90),
}

# Where each class begins; a range reaches to the next row. What is too small for a row is "other".
_RANGES: Final[Sequence[tuple[int, str]]] = (
    (0x0080, "mark"),
    (0x00C0, "accented"),
    (0x0100, "latin_extended"),
    (0x0250, "other"),
    (0x0370, "greek"),
    (0x0400, "cyrillic_other"),
    (0x0410, "cyrillic"),
    (0x0450, "cyrillic_other"),
    (0x0530, "caucasian"),
    (0x0590, "hebrew"),
    (0x0600, "arabic_other"),
    (0x0621, "arabic"),
    (0x0653, "arabic_other"),
    (0x0700, "other"),
    (0x0900, "devanagari"),
    (0x0980, "bengali"),
    (0x0B80, "indic"),
    (0x0E00, "thai"),
    (0x0E80, "southeast"),
    (0x10A0, "caucasian"),
    (0x1100, "other"),
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

_FEATURES: Final = tuple(_WEIGHTS)
_ASCII: Final = _FEATURES.index("accented")  # how many features are read off masks
_WEIGHTS_OF_FAMILY: Final[Mapping[TokenFamily, tuple[float, ...]]] = {
    family: tuple(_WEIGHTS[feature][place] for feature in _FEATURES)
    for place, family in enumerate(TokenFamily)
}
_SMALL_WORDS: Final = frozenset(word for word in STOP_WORDS if len(word) > 1)  # "a" is Czech and Spanish, too
_ENGLISH_FROM: Final = 0.13  # share of small words; English has 0.2 and more, other languages up to 0.1
_STARTS: Final = tuple(start for start, _ in _RANGES)
_CACHED_CLASSES: Final = 32_768  # no text, however hostile, makes the table grow past this
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_LOWER, _UPPER, _DIGIT, _MARK, _BLANK, _VOWEL, _E, _N, _NO_CLASS = range(9)


def _ascii_class(point: int) -> int:
    character = chr(point)
    if character in "aiou":
        return _VOWEL
    if character in "en":
        return _E if character == "e" else _N
    if character.isalnum():
        return _DIGIT if character.isdigit() else _LOWER if character.islower() else _UPPER
    return _BLANK if character.isspace() else _MARK


class _Classes(dict[int, int]):
    """Code point → place among the features, worked out when first met."""

    def __missing__(self, point: int) -> int:
        found = _FEATURES.index(_RANGES[bisect_right(_STARTS, point) - 1][1])
        if len(self) < _CACHED_CLASSES:
            self[point] = found
        return found


_ASCII_TABLE: Final = bytes(_ascii_class(point) if point < 128 else _NO_CLASS for point in range(256))
_CLASSES: Final = _Classes(
    {ord(character): _FEATURES.index("umlaut") for character in _UMLAUTS}
    | {ord(character): _FEATURES.index("han_common") for character in _COMMON_HAN}
)


def _selector(*classes: int) -> bytes:
    """Return the table that writes 1 for the given classes and 0 for all others."""
    return bytes(1 if number in classes else 0 for number in range(256))


_LETTERS: Final = _selector(_LOWER, _UPPER, _VOWEL, _E, _N)
_CAPITALS: Final = _selector(_UPPER)
_DIGITS: Final = _selector(_DIGIT)
_MARKS: Final = _selector(_MARK)
_BLANKS: Final = _selector(_BLANK)
_VOWELS: Final = _selector(_VOWEL)
_VOWELS_AND_E: Final = _selector(_VOWEL, _E)
_NS: Final = _selector(_N)


def estimate_tokens(text: str, family: TokenFamily = TokenFamily.CL100K) -> int:
    """Estimate what a text costs in tokens; 0 for the empty text alone.

    Args:
        text: anything, lone surrogates included.
        family: the tokenizer that will read it.
    Returns: within 10 % of the tokenizer on prose, and not under it by more in any script.
    """
    weights = _WEIGHTS_OF_FAMILY[family]
    classes = text.encode("utf-8", "surrogatepass").translate(_ASCII_TABLE)
    cost = _ascii_cost(classes, weights, is_english=_is_english(text))
    if not text.isascii():
        scripts = "".join(_BEYOND_ASCII.findall(text)).translate(_CLASSES).encode()
        cost += sum(weights[number] * scripts.count(number) for number in set(scripts))
    return math.ceil(cost)


def _is_english(text: str) -> bool:
    """Tell by its small words whether a text is English, which tokenizers know best."""
    words = text.lower().split()
    return sum(map(_SMALL_WORDS.__contains__, words)) >= len(words) * _ENGLISH_FROM


def _ascii_cost(classes: bytes, weights: Sequence[float], *, is_english: bool) -> float:
    """Count what is made of ASCII; in `classes` any other byte belongs to no class."""

    def mask(selector: bytes) -> int:
        return int.from_bytes(classes.translate(selector), "little")

    letters = mask(_LETTERS)
    two = letters & letters << 8  # here and before: letters
    four = two & two << 16
    words = letters.bit_count() - two.bit_count()
    further_letters = (four & two << 32).bit_count()
    digits = mask(_DIGITS)
    two_digits = digits & digits << 8
    marks = mask(_MARKS)
    further_marks = (marks & marks << 8).bit_count()
    blanks = mask(_BLANKS)
    two_blanks = blanks & blanks << 8
    word, long, strange_word, strange_long, strange_ending, *others = weights[:_ASCII]
    capital, joint, run, more_digits, mark_run, more_marks, spaces = others
    if is_english:
        cost = word * words + long * further_letters
    else:
        ends_in_n = mask(_NS) & mask(_VOWELS_AND_E) << 8 & four << 8
        endings = four & ~(letters >> 8) & (mask(_VOWELS) | ends_in_n)
        cost = strange_word * words + strange_long * further_letters + strange_ending * endings.bit_count()
    return (
        cost
        + capital * (mask(_CAPITALS) & letters << 8).bit_count()
        + joint * ((letters & digits << 8).bit_count() + (digits & letters << 8).bit_count())
        + run * (digits.bit_count() - two_digits.bit_count())
        + more_digits * (two_digits & two_digits << 16).bit_count()
        + mark_run * (marks.bit_count() - further_marks)
        + more_marks * further_marks
        + spaces * (two_blanks.bit_count() - (two_blanks & two_blanks << 8).bit_count())
    )


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
    if version and (int(version[1]), int(version[2] or 0)) >= (4, 8):
        return TokenFamily.CLAUDE_4_8
    return TokenFamily.CLAUDE_3
