"""Where two sentences differ: read as rows of what is compared, they are laid side by side.

A sentence becomes tokens: words by their stems, figures with their units, times of day, dates. Articles, fillers
and auxiliaries drop out, negations are counted apart. Two sentences that are the same but for one place have one
slot; what stands in it on either side tells whether they can both hold.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from memories.core.dating import DATE_PATTERN, MONTHS, WEEKDAYS, date_key
from memories.core.polarity import NEGATIONS
from memories.core.quantities import CLOCK, QUANTITY, Quantity, read_clock, read_quantity
from memories.core.text import DEFAULT_LANGUAGE, normalise, terms, word_set

LONGEST_SLOT: Final = 4  # tokens


class Form(Enum):
    WORD = auto()
    FIGURE = auto()
    CLOCK = auto()
    DATE = auto()
    WEEKDAY = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One thing that is compared: by form and key."""

    form: Form
    key: str
    word: str  # as in the plain text
    quantity: Quantity | None = None
    article: str = ""  # "the" or "a" where one stands before it, whatever the language
    is_name: bool = False  # written with a capital

    def is_like(self, other: "Token") -> bool:
        return self.form is other.form and self.key == other.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A sentence as it is laid beside another."""

    tokens: tuple[Token, ...]
    negations: int
    is_definite: bool  # it begins with "the", "our" or "Ana's"
    is_bare: bool = False  # its subject is one thing that stands without an article: "deploy day is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The one place where two sentences differ, and what they share around it."""

    before: tuple[Token, ...]
    ours: tuple[Token, ...]
    theirs: tuple[Token, ...]
    after: tuple[Token, ...]


def find_slot(a: Row, b: Row) -> Slot | None:
    """Return the one place where two rows differ, both having something there; None where there is no such place."""
    ours, theirs = a.tokens, b.tokens
    shorter = min(len(ours), len(theirs))
    before = next((i for i in range(shorter) if not ours[i].is_like(theirs[i])), shorter)
    rest = shorter - before
    after = next((i for i in range(rest) if not ours[-1 - i].is_like(theirs[-1 - i])), rest)
    differing = ours[before : len(ours) - after], theirs[before : len(theirs) - after]
    if not all(0 < len(each) <= LONGEST_SLOT for each in differing):
        return None
    return Slot(before=ours[:before], ours=differing[0], theirs=differing[1], after=ours[len(ours) - after :])


def says_the_same(a: Row, b: Row) -> bool:
    return a.negations == b.negations and is_same_but_for_negations(a, b)


def is_same_but_for_negations(a: Row, b: Row) -> bool:
    return len(a.tokens) == len(b.tokens) and all(
        ours.is_like(theirs) for ours, theirs in zip(a.tokens, b.tokens, strict=True)
    )


# -- Reading -------------------------------------------------------------------------------------

_THE: Final = "the"
_A: Final = "a"
_ARTICLES: Final[Mapping[str, Mapping[str, str]]] = {
    "english": dict.fromkeys(["the", "our", "my", "his", "her", "their", "its", "your", "this"], _THE)
    | dict.fromkeys(["a", "an"], _A),
    "german": dict.fromkeys(
        [
            "der",
            "die",
            "das",
            "dem",
            "den",
            "des",
            "unser",
            "unsere",
            "mein",
            "meine",
            "im",
            "am",
            "zum",
            "zur",
        ],
        _THE,
    )
    | dict.fromkeys(["ein", "eine", "einen", "einem", "einer"], _A),
    "french": dict.fromkeys(
        ["le", "la", "les", "du", "notre", "nos", "mon", "ma", "mes", "au", "aux", "de"], _THE
    )
    | dict.fromkeys(["un", "une", "des"], _A),
    "spanish": dict.fromkeys(
        ["el", "la", "los", "las", "del", "al", "nuestro", "nuestra", "mi", "su", "de"], _THE
    )
    | dict.fromkeys(["un", "una", "unos", "unas"], _A),
}
FILLERS: Final[Mapping[str, frozenset[str]]] = {
    "english": word_set(
        "now currently actually really just still already presently nowadays today's please do does did longer anymore yet"
    ),
    "german": word_set("jetzt nun derzeit aktuell mehr bitte noch inzwischen momentan"),
    "french": word_set("maintenant actuellement desormais plus y"),
    "spanish": word_set("ahora actualmente ya"),
}
_SAME_WORDS: Final = {
    word: key
    for key, words in (
        ("be", "is are am was were been"),
        ("have", "has"),
        ("do", "does"),
        ("can", "could"),
        ("prior-to", "before"),
    )
    for word in words.split()
}
_CONTRACTED: Final = {"can": "can", "won": "will", "shan": "shall"}
_SHORTENED: Final = re.compile(r"(?P<stem>[a-z]{2,10})n['’]t")
_ELIDED: Final = re.compile(r"\b(?P<head>[dlsjcmtn]|qu)['’](?=\w)")
_NUMBER_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    language: {word: str(number) for number, word in enumerate(words.split(), start=first)}
    for language, first, words in (
        ("english", 1, "one two three four five six seven eight nine ten eleven twelve"),
        ("german", 2, "zwei drei vier funf sechs sieben acht neun zehn elf zwolf"),
        ("french", 2, "deux trois quatre cinq six sept huit neuf dix onze douze"),
        ("spanish", 2, "dos tres cuatro cinco seis siete ocho nueve diez once doce"),
    )
}
_DECIMAL_COMMA: Final = frozenset({"german", "french", "spanish", "italian", "portuguese", "dutch"})
_GOT: Final = re.compile(r"(?:(?<=\w)['’]ve|\bhave|\bhas) got\b")
_ANY_MORE: Final = re.compile(r"\bany (?:more|longer)\b")
_LEAD_IN: Final = re.compile(
    r"^(?:(?:please )?(?:note|remember|fyi|update|correction|reminder)(?: that|\s?[:,])"
    r"|(?:i|we|he|she|they|[a-z]+) (?:told (?:you|me|us)|agreed|decided|confirmed|know|think|noted|said|says|learned|heard)"
    r" that|as of (?:this|now|today)(?: (?:week|month|quarter|year|sprint))?,?) "
)
_NE: Final = re.compile(r"\bn(?:e\b|['’](?=\w))")
_PAS: Final = re.compile(r"\b(?:pas|jamais|aucune?)\b")
_WITHOUT: Final = word_set("without ohne sans sin senza sem")  # they deny a part, not the sentence
_CLOCK_OPENERS: Final = word_set("at um las")
_MONTH_OPENERS: Final = word_set("in by until since im bis en")
_NO_ONE: Final = word_set("no this that which any every some each the")
_SCAN: Final = re.compile(
    rf"(?P<date>{DATE_PATTERN})|(?P<clock>(?<![\w.,:]){CLOCK})|(?P<figures>(?<![\w.,:/-]){QUANTITY}(?![\w/:@]|[.,-]\w))"
    r"|(?P<word>[/~.@#]?\w[^\s,;!?()\"“”«»=]*)|(?P<operator>[=:%])"
)
_TRAIL: Final = ".,:;…'’`*_"
_WORD_SHOWN: Final = re.compile(r"[^\W_][\w’'-]*")
_DEFINITE: Final = re.compile(
    r"(?:the|our|my|his|her|their|its|your|der|die|das|unser|unsere|mein|meine|le|la|les|notre|mon|ma|el|los|las|nuestro"
    r"|nuestra|mi|su)\b|l['’]|[\w-]+['’]s\b"
)


_DAYS: Final = ("day", "date", "deadline")
_BETWEEN_NOUNS: Final = word_set(
    "of in on at for from to with without by and or but nor that which who where when what there here it"
)
# What begins with one of these, or is one, is not the only one of its kind ...
_ONE_OF_SEVERAL: Final = word_set(
    """one another other some any each every either which what alternative alternate possible potential second secondary
    third backup additional further extra sample example typical suggested proposed optional supported spoken allowed
    valid accepted common good great popular free public national bank next last previous upcoming new old past"""
)
# ... and of these there are several a week, though nobody says "a".
_HELD_OFTEN: Final = word_set(
    """training practice practise rehearsal class lesson course session shift therapy physio gym yoga pilates football
    soccer tennis volleyball basketball hockey rugby polo swimming running climbing dance dancing choir chess school
    holiday pickup collection delivery parking work homework help support access service trip tour flight time anyone
    someone everyone nobody everything something today tomorrow"""
)


def read_row(sentence: str, plain: str, language: str = DEFAULT_LANGUAGE) -> Row:
    """Read a sentence for comparison; linear in its length.

    Args:
        plain: its normal form with ASCII digits.
        language: of the vault; whose articles, fillers and number words these are; those of English where it is unknown.
    """
    read = _Reader(language=language, shown=_shown_names(sentence))
    tokens = tuple(read.tokens(plain))
    is_definite = _DEFINITE.match(without_lead_in(plain)) is not None
    return Row(
        tokens=tokens,
        negations=min(read.negations, 2),
        is_definite=is_definite,
        is_bare=not is_definite and _is_bare_singular(tokens),
    )


def _is_bare_singular(tokens: tuple[Token, ...]) -> bool:
    """Whether "is" follows a noun in the singular without an article, which others before it say more of.

    A single word is a day ("payday") or none: it may be a name, a stuff or a pastime.
    """
    place = next((place for place, token in enumerate(tokens) if token.word == "is"), 0)
    subject = tokens[:place]
    if not 0 < place <= LONGEST_SLOT or any(_says_more(token) for token in subject[1:] or subject):
        return False
    head, words = subject[-1].word, {token.word for token in subject}
    if (
        subject[0].article
        or subject[0].form is not Form.WORD
        or head.endswith("s")
        or not (_ONE_OF_SEVERAL | _HELD_OFTEN).isdisjoint(words)
    ):
        return False
    return len(subject) > 1 or head.endswith(_DAYS)


def _says_more(token: Token) -> bool:
    """Whether a word of a subject makes it more than nouns in a row: an article, a name, a preposition, a figure."""
    is_name = token.is_name and not token.word.endswith(_DAYS)
    return bool(token.article) or is_name or token.form is not Form.WORD or token.word in _BETWEEN_NOUNS


def without_lead_in(plain: str) -> str:
    """Return a normalised text without "note that", "we agreed that" and their like at its beginning."""
    return _LEAD_IN.sub("", plain)


def figures_of(text: str, language: str = DEFAULT_LANGUAGE) -> frozenset[tuple[Form, str]]:
    """Return the figures with their units, the times and the days that a text names."""
    reader = _Reader(language=language, shown=frozenset())
    return frozenset(
        (token.form, token.key) for token in reader.tokens(normalise(text)) if token.form is not Form.WORD
    )


def _shown_names(sentence: str) -> frozenset[str]:
    return frozenset(
        normalise(found.group()) for found in _WORD_SHOWN.finditer(sentence) if found.group()[0].isupper()
    )


class _Reader:
    """Reads one sentence, token by token, and counts the negations that it passes."""

    def __init__(self, *, language: str, shown: frozenset[str]) -> None:
        spoken = language if language in _ARTICLES else DEFAULT_LANGUAGE
        self._articles = _ARTICLES[spoken]
        self._fillers = FILLERS[spoken]
        self._numbers = _NUMBER_WORDS[spoken]
        self._language = language
        self._shown = shown
        self._article = ""
        self._last = ""
        self.negations = 0

    def tokens(self, plain: str) -> Iterator[Token]:
        for match in _SCAN.finditer(self._in_digits(plain)):
            for token in self._read(match):
                yield token
                self._article = ""
                self._last = token.word
        self._settle_negations(plain)

    def _in_digits(self, plain: str) -> str:
        whole = _GOT.sub(" have", _ANY_MORE.sub("anymore", _ELIDED.sub(r"\g<head> ", without_lead_in(plain))))
        words = whole.split(" ")
        return " ".join(
            word if word == "one" and index and words[index - 1] in _NO_ONE else self._numbers.get(word, word)
            for index, word in enumerate(words)
        )

    def _settle_negations(self, plain: str) -> None:
        """Count "ne … pas" and its like once."""
        if len(_NE.findall(plain)) and _PAS.search(plain):
            self.negations = max(self.negations - len(_NE.findall(plain)), 1)

    def _read(self, match: re.Match[str]) -> Iterator[Token]:
        found = match.group()
        if match.lastgroup == "date":
            form = Form.WEEKDAY if match["weekday"] else Form.DATE
            yield self._made(form, date_key(match), found)
        elif match.lastgroup == "clock":
            yield self._made(Form.CLOCK, read_clock(match), found)
        elif match.lastgroup == "figures":
            yield self._figure(match, found)
        elif match.lastgroup == "word":
            if word := self._word(found.rstrip(_TRAIL)):
                yield word
            if found.endswith(":"):
                yield self._made(Form.WORD, "be", ":")
        else:
            yield self._made(Form.WORD, "be" if found in "=:" else found, found)

    def _figure(self, match: re.Match[str], found: str) -> Token:
        quantity = read_quantity(match, decimal_comma=self._language in _DECIMAL_COMMA)
        if quantity is None:
            return self._made(Form.FIGURE, found, found)
        if (
            quantity.dimension is None
            and self._last in _CLOCK_OPENERS
            and found.isdecimal()
            and int(found) <= 24
        ):
            return self._made(Form.CLOCK, f"{int(found) % 24:02}:00", found)
        key = f"{quantity.amount.normalize():f} {quantity.dimension or ''}"
        return self._made(Form.FIGURE, key, found, quantity=quantity)

    def _word(self, word: str) -> Token | None:
        if short := _SHORTENED.fullmatch(word):
            self.negations += 1
            word = _CONTRACTED.get(short["stem"], short["stem"])
        elif word == "cannot":
            self.negations += 1
            word = "can"
        elif word in NEGATIONS and word not in _WITHOUT:
            self.negations += 1
            return None
        if word in self._articles:
            self._article = self._articles[word]
            return None
        if word == "n":
            self.negations += 1
            return None
        if not word or word in self._fillers or (len(word) == 1 and word in "dlsjcmt"):
            return None
        return self._plain_word(word)

    def _plain_word(self, word: str) -> Token:
        bare = word.removesuffix("'s").removesuffix("’s")
        day = bare.removesuffix("s") if bare not in WEEKDAYS else bare
        if day in WEEKDAYS:
            return self._made(Form.WEEKDAY, WEEKDAYS[day], word)
        if bare in MONTHS and self._last in _MONTH_OPENERS:
            return self._made(Form.DATE, f"-----{MONTHS[bare]:02}", word)
        key = _SAME_WORDS.get(bare) or "+".join(terms(bare, self._language)) or bare
        return self._made(Form.WORD, key, bare)

    def _made(self, form: Form, key: str, word: str, *, quantity: Quantity | None = None) -> Token:
        return Token(
            form=form,
            key=key,
            word=word,
            quantity=quantity,
            article=self._article,
            is_name=word in self._shown,
        )
