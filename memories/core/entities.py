"""Who and what a text is about, spotted by how names are written. No list of names, no model.

A capital inside a sentence makes a name; a capital that merely opens one needs a second sign.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from memories.core.secrets import blank_marks
from memories.core.text import STOP_WORDS, normalise, sentences, word_set

ENTITIES_PER_TEXT = 20
LONGEST_NAME = 80
_LONGEST_SPAN_WORDS = 5

_WORD = re.compile(r"[^\W\d_](?:[\w.&’'-]*[^\W_])?")
_MARKED = re.compile(
    r"`(?P<code>[^`\s]{2,60})`"
    r"|(?<![\w.@])@(?P<handle>[^\W_](?:[\w.-]{0,38}[^\W_])?)"
    r"|[\"“](?P<quoted>[^\"“”\n]{2,60})[\"”]"
    r"|[「『《](?P<bracketed>[^「」『』《》\n]{1,40})[」』》]"
    r"|(?<![\w.-])(?P<identifier>[A-Za-z0-9]{1,40}(?:_[A-Za-z0-9]{1,40}){1,8})(?![\w-])"
)
_SPEAKER = re.compile(
    r"^[ \t>*-]{0,8}(?P<speaker>[^\W\d_][\w.’'-]{0,30}(?: [^\W\d_][\w.’'-]{0,30}){0,2})\*{0,2}:(?=\s|$)", re.M
)
_OWN_REF = re.compile(r"(?:mem|cap|ctx|pin|rcp)_\w+")
_POSSESSIVE = re.compile(r"['’]s?$")
_CONTRACTION = re.compile(r"['’](?:re|ve|ll|d|m|t)$", re.I)
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_PLURAL_VERB = re.compile(r"\s(?:are|aren['’]t|were|have|haven['’]t|do|don['’]t)\b")
_HUMP = re.compile(r"[a-z][A-Z]")
_SENTENCE_EDGE = " \t\"'“”‘’«»()[]*_#>-–—•"

_JOINERS = word_set("of de da di du del della der den van von la le el al bin ibn & y")
_CALENDAR = word_set(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun january "
    "february march april may june july august september october november december jan feb mar apr jun jul aug sep "
    "sept oct nov dec mondays tuesdays wednesdays thursdays fridays saturdays sundays today tomorrow yesterday"
)
_NEVER_NAMES = _CALENDAR | word_set(
    "i i'm i'll i've i'd i’m i’ll i’ve i’d ok okay todo fixme note am pm a.m p.m mr mrs ms dr prof http https eur usd gbp utc gmt cet kb mb gb tb"
)
# Words that open sentences without being names, beside the stop words.
_OPENERS = STOP_WORDS | word_set(
    """absolutely according add agree agreed ah aha almost already also although always amazing another
    answer anyone anything anytime anyway anyways apart apply appreciate appreciated approve art ask
    assume autumn avoid aw awesome aww awww back backup bad based basketball beautiful believe besides
    best bet better big blessed book books bravo bring browse btw budget bug build bummer buy bye call
    cancel care case catch challenges change chapter chat check cheers cherish choose clean clear click
    close code come commit common compare complete conclusion configure confirm congrats congratulations
    consider contact cool copy correct cost count cozy crazy create creativity current currently
    customer customers cute dad dance data database date day days deadline dear debug decide decided
    decision default define delete deploy describe despite details different disable discuss document
    domestic don't done dont draft dreams due earlier early easy either email enable end enjoy enjoyed
    ensure enter error errors especially even event eventually ever every everybody everyone everything
    exactly example excellent except excited expect explain fact family fantastic fascinating feature
    feel feels felt fill final finally find fine fingers finish first fix follow food football forget
    forgot format found free friend friends friendship full fun funny game games generally get give
    given glad go goal goals going gonna good got gotta grateful great guess ha haha half hang happy
    hard health heard hello help hence hey hi high hint hmm hold hope hopefully hopes hotel house
    however hugs human idea ignore imagine important impressive improve include incredible info
    information input instead interesting introduction issue issues jealous job join keep key keys kids
    kind know kudos language last late lately later laughter launch learn least leave left less level
    life like likely limit line list little load local log login lol long look looks lots love lovely
    low luckily lucky lunch made main make makes many market may maybe meal mean meet meeting meetings
    member memory men mental merge message method might minor mixed mm mmm mom money month more morning
    mostly motivation move movies much mum music must name nature necessary need needs neither never new
    news next nice night no nobody none nope nor normally not noted nothing notice now number obviously
    often oh old one online oof open option options order orders others otherwise ouch output overall
    owner painting part password passwords peace people perfect perhaps person pets place plan plans
    play please plus point policy positive possible pottery prefer preferably pretty previous previously
    price probably problem process product project projects proposal proud provide purpose push put
    quality question questions quick quite rate rather read ready real really reason recently record
    reduce refer regarding regardless relax release remember remind reminder reminds remove repeat replace reply
    report request requests require rest results return review right risk rock rule rules run sad same
    save saw say schedule school second section see seeing seems seen select send sent server service
    set setbacks several share short should shout show similarly simple simply since single sleep small
    sometimes somewhat soon sorry sort sounds source speak specify sports spring staff start started
    state status stay step still stop store stories story strange strict strong students submit success
    such suggest summary summer super support sure surprised sweet switch system tag take taking talk task
    tasks team teams teamwork tell ten terrible test tests thank thankful thanks thing things think
    third though three thus time title together told tonight tons took tool tools top total touch tough
    traffic train transfer travel travels trip trips true trust try turn turns two type typically ugh
    unbelievable understand unfortunately unless unlike until update upgrade upload use used user users
    usually value version videos view visit volunteers wait wake walk wanna want wanted warning watch
    water way weather week weeks welcome well went whatever whenever whereas wherever whether whichever
    whoa whoever whole whose wife wild win winter wish within without woah wonder wonderful woo woohoo
    word words work works worries worst wow write writing wrong yay yea yeah year years yep yes yet yo
    yoga young yum yup"""
)
_COMMON_ENDINGS = (
    "ing", "ings", "ly", "tion", "tions", "sion", "sions", "ment", "ments", "ness", "ities", "ances", "ences",
    "izes", "ised", "ized", "able", "ible", "less", "ships", "ures",
)  # fmt: skip


def spot_entities(text: str, *, limit: int | None = ENTITIES_PER_TEXT) -> tuple[str, ...]:
    """Return the names in a text as written there, in order of appearance, each once.

    Names are capitalised spans, @handles, quoted names, code identifiers and the speakers of a transcript; the mark of
    a masked secret is none.
    """
    text = blank_marks(text)
    found = sorted([*_marked_names(text), *_speakers(text), *_capitalised_names(text)])
    return tuple(islice(_distinct(name for _, name in found), limit))


def entity_key(name: str) -> str:
    """Return what makes two writings of a name the same entity."""
    return " ".join(normalise(name).strip("\"'`“”‘’«».,;:!?()[] ").split())


def _distinct(names: Iterable[str]) -> Iterator[str]:
    seen = {""}
    for name in names:
        key = entity_key(name)
        if key not in seen:
            seen.add(key)
            yield name


def _marked_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, name) for what stands in quotes or back-ticks, behind an @, or is written like code."""
    for match in _MARKED.finditer(text):
        kind, name = match.lastgroup, match.group(match.lastgroup or 0)
        if kind == "quoted" and not _is_quoted_name(name):
            continue
        if kind in {"code", "identifier"} and (_OWN_REF.fullmatch(name) or not _has_letter(name)):
            continue
        yield match.start(), f"@{name}" if kind == "handle" else name.strip(" .,;:")


def _is_quoted_name(quoted: str) -> bool:
    words = quoted.split()
    return 1 <= len(words) <= 4 and all(word[0].isupper() or word in _JOINERS for word in words)


def _has_letter(name: str) -> bool:
    return any(character.isalpha() for character in name)


def _speakers(text: str) -> Iterator[tuple[int, str]]:
    for match in _SPEAKER.finditer(text):
        name = match.group("speaker")
        if all(_may_be_name(word) for word in name.split()) and name.lower() not in _OPENERS:
            yield match.start("speaker"), name


def _capitalised_names(text: str) -> Iterator[tuple[int, str]]:
    spans = list(_spans(text))
    inside = {name for _, name, opens in spans if not opens}
    for offset, name, opens in spans:
        if name.lower() in STOP_WORDS and not name.isupper():
            continue
        certain = not opens or name in inside or " " in name
        if certain or not (is_common_word(name) or _PLURAL_VERB.match(text, offset + len(name))):
            yield offset, name


def _spans(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield (offset, name, whether it opens its sentence) for each run of capitalised words."""
    offset = 0
    for sentence in sentences(text):
        offset = text.index(sentence, offset)
        if not _is_shouted(sentence):
            yield from ((offset + start, name, opens) for start, name, opens in _spans_of_sentence(sentence))
        offset += len(sentence)


def _is_shouted(sentence: str) -> bool:
    words = sentence.split()
    return len(words) > 3 and sum(word.isupper() for word in words) * 2 > len(words)


def _spans_of_sentence(sentence: str) -> Iterator[tuple[int, str, bool]]:
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(sentence):
        named = _may_be_name(word.group())
        if run and not _continues(run, word, named=named):
            yield from _closed(run)
            run = []
        if named or (run and word.group() in _JOINERS):
            run.append(word)
    yield from _closed(run)


def _continues(run: list[re.Match[str]], word: re.Match[str], *, named: bool) -> bool:
    between = word.string[run[-1].end() : word.start()]
    is_initial = between == ". " and _INITIALS.fullmatch(run[-1].group()) is not None
    ends_possessed = _POSSESSIVE.search(run[-1].group()) is not None
    fits = named or word.group() in _JOINERS
    return fits and (between == " " or is_initial) and not ends_possessed and len(run) < _LONGEST_SPAN_WORDS


def _closed(run: list[re.Match[str]]) -> Iterator[tuple[int, str, bool]]:
    """Yield a finished run as a name, freed of joiners at its end and of an opener at its beginning."""
    words = list(run)
    while words and words[-1].group() in _JOINERS:
        words.pop()
    opens = bool(words) and _opens(words[0])
    if opens and len(words) > 1 and is_common_word(words[0].group()):
        words, opens = words[1:], False
        while words and words[0].group() in _JOINERS:
            words = words[1:]
    if words:
        text = words[0].string[words[0].start() : words[-1].end()]
        name = _POSSESSIVE.sub("", text)
        if 1 < len(name) <= LONGEST_NAME:
            yield words[0].start(), name, opens


def _opens(word: re.Match[str]) -> bool:
    """Tell whether a word stands where any word would have a capital: first, or behind a colon."""
    before = word.string[max(0, word.start() - 12) : word.start()].rstrip(_SENTENCE_EDGE + "0123456789.")
    return (not before and word.start() <= 12) or before.endswith(":")


def _may_be_name(word: str) -> bool:
    if word.islower() or word.lower() in _NEVER_NAMES or _CONTRACTION.search(word):
        return False
    return word[0].isupper() or _HUMP.search(word) is not None


def is_common_word(word: str) -> bool:
    """Tell whether a word that opens a sentence is likely no name."""
    if _HUMP.search(word) or (word.isupper() and len(word) > 1):
        return False
    lowered = word.lower()
    stems = {lowered, lowered.removesuffix("s"), lowered.removesuffix("d"), lowered.removesuffix("ed")}
    return not stems.isdisjoint(_OPENERS) or lowered.endswith(_COMMON_ENDINGS)
