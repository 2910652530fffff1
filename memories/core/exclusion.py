"""When two sentences that are the same but for one place exclude each other.

What differs is a figure, a time, a date, an antonym or the value of an attribute that has one at a time. A false
alarm costs more than a miss, so each rule asks for a frame in which one value leaves no room for another, and says
nothing about what happened once, what is open-ended, and what one may have several of.
"""

import re
from typing import Final, Literal

from memories.core.polarity import ALTERNATIVES, ANYWHERE, COLOURS, STATES, VERBS, is_denied_by_prefix
from memories.core.quantities import may_be_one_time, unit_dimension
from memories.core.slots import Form, Row, Slot, Token, find_slot, is_same_but_for_negations
from memories.core.text import word_set

Reason = Literal["number", "negation", "value"]

# -- Frames --------------------------------------------------------------------------------------

_BE: Final = word_set("is are am be = : ist sind bin est sont es son esta estan equals costs betragt")
_PREPOSITIONS: Final = word_set(
    """at in on to by after before within from for of per about every each until since with than under over
    um am bei nach vor auf fur von pro seit bis aus mit
    a en de des dans par pour pendant depuis avec chez las los con por para desde hasta"""
)
_VERBS: Final = word_set(
    """is are am be has have had costs cost takes take needs need requires require allows allow supports support holds
    hold returns return lasts last weighs weigh measures measure uses use gets get owns own employs counts contains
    contain includes include waits wait expires expire runs run starts start ends end opens open closes close stays stay
    leaves leave departs depart arrives arrive listens listen defaults serves seats earns earn pays pay charges charge
    drinks drink eats eat sleeps sleep works work equals gives give keeps keep receives receive spends spend
    ist sind hat haben kostet kosten betragt dauert braucht nimmt wiegt misst fahrt beginnt endet lauft verdient zahlt
    est sont a ont coute dure pese mesure part arrive commence finit gagne prend utilise
    es son tiene tienen cuesta dura pesa mide sale llega empieza termina gana toma usa utiliza"""
)
_HAPPENED: Final = word_set(
    """was were had did went ran paid met slept spent bought sold saw took gave got made came left won lost ate drank
    wrote drove flew swam rode told said found felt heard began"""
)
_LOOKS_PAST: Final = re.compile(r"[a-z]{3,}ed")
_NO_PAST: Final = word_set(
    "need feed speed seed exceed proceed succeed embed bleed breed indeed hundred shared"
)
_HEDGES: Final = word_set(
    "about around roughly approximately nearly almost over under between least most than circa ca etwa rund environ unos"
)
_NUMBERED: Final = word_set(
    """ticket issue pr bug task step chapter page section seat order invoice id sprint phase part week lesson episode
    season item number question exercise verse line row figure table level round day"""
)
_ONE_NUMBER: Final = word_set(
    """port platform terminal gate version node python java ruby room track line floor release build
    puerto gleis bahnsteig zimmer quai voie anden puerta"""
)
_ONE_NUMBER_VERBS: Final = word_set(
    "is are be runs run departs depart leaves leave listens listen uses use ships ship needs requires lauft part sale usa utilise"
)
_OFTEN: Final = word_set("buses trains trams ferries flights shuttles classes tours courses planes boats")
_AFTER_MEASURE: Final = word_set(
    "long wide high deep tall old thick away off large big lang breit hoch alt ago or and"
)
_TWO_STATES: Final = word_set(
    "open closed free available busy reachable away out shut offen geschlossen ouvert ferme"
)
_HELD_ONCE: Final = word_set(
    """is are be = : due starts start begins begin ends end expires expire closes close opens open happens launches
    launch leaves leave departs depart arrives arrive falls takes place until valid ist sind beginnt endet findet est sont commence
    finit es son empieza termina sale"""
)
_ONCE: Final = word_set(
    "arrives arrive begins begin ends end happens starts start place departs beginnt endet empieza commence"
)
_SCHEDULED: Final = word_set(
    "due held scheduled planned set moved expected fixed collected delivered published booked"
)
# What has one value at a time, whatever it is ...
_ATTRIBUTES: Final = word_set(
    """address birthday branch budget capital city color colour country currency database deadline default editor email
    framework headquarters language launch limit location name nickname password phone pin port price region
    size status theme timeout timezone title url username version code domain engine hometown postcode
    hauptstadt passwort adresse datenbank sprache frist name farbe
    capitale adresse langue delai couleur nom mot
    capital direccion idioma plazo contrasena color nombre"""
)
# ... and what is one person or thing at a time, where a name says which.
_ROLES: Final = word_set(
    """accountant airline airport balance bank boss captain carrier chair chairman coach contractor dentist director
    doctor employer gate gp head host hotel insurer landlord lawyer lead leader maintainer manager mechanic office
    organiser organizer owner platform president principal provider registrar registry release role sponsor supervisor
    supplier surgeon teacher therapist tutor vendor venue vet winner
    inhaber chef leiter patron responsable jefe"""
)
_EVENTS: Final = word_set(
    """wedding appointment meeting sync retro standup kickoff workshop conference ceremony exam interview demo review
    sitzung treffen termin hochzeit reunion mariage boda cita"""
)
_ALWAYS: Final = word_set("always immer stets toujours siempre")
_LED: Final = word_set(
    "led owned run managed chaired headed directed supervised maintained moderated coordinated coached"
)
_SOME_OTHER: Final = word_set("one another some any other part half each most")
_GROUPS: Final = word_set(
    "team group department guild squad committee board council family ltd inc gmbh company foundation"
)
_TITLES: Final = word_set("mr mrs ms miss dr prof herr frau monsieur madame m mme senor senora don")
_ONE_PLACE: Final = re.compile(
    r"(?:^|\s)(?:liv(?:es?|ing) in|resides? in|reports? to|(?:was|were) born (?:in|on)|defaults? to|takes? place (?:in|at|on)|go(?:es)? to school in|(?:is|are) (?:released|licensed) under"
    r"|works? (?:at|for)|(?:is|are) (?:located|based|hosted|held|stored|kept|parked|registered|born|saved) (?:in|at|on|to)"
    r"|wohnt in|lebt in|geht in|arbeitet (?:bei|fur)|heisst|findet in|liegt in|geboren in"
    r"|habite(?: a| en)?|vit a|travaille (?:chez|pour)|s appelle|se trouve a|a lieu(?: a| en)?|ne a"
    r"|vive en|trabaja (?:en|para)|se llama|nacio en|reside en|queda en)$"
)
_IN_A_PLACE: Final = re.compile(
    r"(?:^|\s)(?:is|are|ist|sind|est|sont|esta|estan) (?:in|at|on|auf|dans|sur|en)$"
)
_COUNTRIES: Final = word_set(
    """afghanistan albania algeria argentina armenia australia austria azerbaijan bangladesh belarus belgium bolivia
    bosnia brazil britain bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus czechia denmark
    ecuador egypt england estonia ethiopia finland france georgia germany ghana greece guatemala honduras hungary iceland
    india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya korea kuwait latvia lebanon libya
    lithuania luxembourg malaysia malta mexico moldova monaco mongolia montenegro morocco nepal netherlands nicaragua
    nigeria norway pakistan panama paraguay peru philippines poland portugal qatar romania russia scotland senegal serbia
    singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand tunisia turkey uganda
    ukraine uruguay uzbekistan venezuela vietnam wales yemen zambia zimbabwe usa us uk states kingdom emirates
    europe asia africa america oceania scandinavia california texas florida bavaria catalonia andalusia tuscany brittany
    deutschland osterreich schweiz frankreich italien spanien polen bayern allemagne suisse espagne italie belgique
    espana alemania francia italia suiza mexico home remotely abroad"""
)


_FIGURES: Final = frozenset({Form.FIGURE, Form.CLOCK})


def excludes(a: Row, b: Row) -> Reason | None:
    """Say why two sentences cannot both hold, or None where they can, or where it is not certain.

    Returns: "negation" for a denial or an antonym, "number" for another figure, unit or time of day, "value" for
        another name, place or date.
    """
    if is_same_but_for_negations(a, b):
        return "negation" if {a.negations, b.negations} == {0, 1} and len(a.tokens) > 1 else None
    if _always_and_never(a, b) or _always_and_never(b, a):
        return "negation"
    slot = find_slot(a, b)
    if slot is None or not slot.before or a.negations != b.negations:
        return None
    if _are_opposed(slot):
        return "negation"
    if a.negations or _has_happened(slot.before):
        return None
    definite = a.is_definite and b.is_definite
    single = definite or (a.is_bare and b.is_bare)
    if _other_figure(slot) or _other_unit_of_rate(slot) or _other_clock(slot):
        return "number"
    if _are_alternatives(slot, definite):
        return "value"
    if _other_date(slot, single) or _other_value(slot, definite) or _other_agent(slot):
        return "value"
    return "value" if single and _is_other_attribute(slot) else None


def _always_and_never(a: Row, b: Row) -> bool:
    """Whether one says that it is always so, and the other, in the same words, that it is not so at all."""
    rest = tuple(token for token in a.tokens if token.word not in _ALWAYS)
    if (a.negations, b.negations) != (0, 1) or len(rest) + 1 != len(a.tokens) or len(rest) < 2:
        return False
    same = [ours.is_like(theirs) for ours, theirs in zip(rest, b.tokens, strict=False)]
    return len(rest) == len(b.tokens) and all(same)


def has_figures(row: Row) -> bool:
    return any(token.form in _FIGURES for token in row.tokens)


def have_other_figures(a: Row, b: Row) -> bool:
    """Whether two rows hold as many figures, of the same units one by one, and not all of them equal."""
    ours, theirs = ([token for token in row.tokens if token.form in _FIGURES] for row in (a, b))
    if len(ours) != len(theirs) or _units(a) != _units(b):
        return False
    differing = [(left, right) for left, right in zip(ours, theirs, strict=True) if not left.is_like(right)]
    return bool(differing) and all(_are_comparable(left, right) for left, right in differing)


def _units(row: Row) -> set[str]:
    return {token.key for token in row.tokens if unit_dimension(token.word) is not None}


def _are_comparable(a: Token, b: Token) -> bool:
    if a.form is not b.form or a.form is Form.CLOCK:
        return False
    if a.quantity is None or b.quantity is None:
        return a.quantity is b.quantity
    return a.quantity.measures_the_same(b.quantity)


def _words(tokens: tuple[Token, ...]) -> list[str]:
    return [token.word for token in tokens]


def _has_happened(before: tuple[Token, ...]) -> bool:
    """Whether the frame tells of something over, which may have happened again; a passive is no past."""
    words = _words(before)
    for index, word in enumerate(words):
        previous = words[index - 1] if index else ""
        if word in _HAPPENED and words[index + 1 : index + 2] != ["born"]:
            return True
        if _LOOKS_PAST.fullmatch(word) and word not in _NO_PAST and index and previous not in _BE | {"born"}:
            return True
    return False


def _single(slot: Slot) -> tuple[Token, Token] | None:
    return (slot.ours[0], slot.theirs[0]) if len(slot.ours) == len(slot.theirs) == 1 else None


# -- Antonyms ------------------------------------------------------------------------------------


def _are_opposed(slot: Slot) -> bool:
    pair = _single(slot)
    if pair is None or any(token.form is not Form.WORD for token in pair):
        return False
    ours, theirs = (token.word for token in pair)
    words = _words(slot.before)
    shared = slot.before + slot.after
    if _stand_on_two_sides(ours, theirs, VERBS):
        return _decides(slot, ours, words)
    said_of = not _BE.isdisjoint(words[-3:]) or "than" in _words(slot.after)[:3]
    if said_of and (_stand_on_two_sides(ours, theirs, STATES) or is_denied_by_prefix(ours, theirs)):
        return True
    return len(shared) > 1 and (
        is_denied_by_prefix(ours, theirs) or _stand_on_two_sides(ours, theirs, ANYWHERE)
    )


def _are_alternatives(slot: Slot, definite: bool) -> bool:
    """Whether two words of one line of alternatives stand in the slot; a colour only where "the thing is" leads to it."""
    pair = _single(slot)
    if pair is None or len(slot.before) < 2:
        return False
    words = {token.word for token in pair}
    is_colour = definite and slot.before[-1].word in _BE and not slot.after
    return any(words <= line for line in ALTERNATIVES) or (is_colour and words <= COLOURS)


def _stand_on_two_sides(a: str, b: str, pairs: tuple[tuple[frozenset[str], frozenset[str]], ...]) -> bool:
    return any((a in left and b in right) or (b in left and a in right) for left, right in pairs)


_TEMPORAL: Final = word_set("before after vor nach avant apres antes despues above below inside outside")


def _decides(slot: Slot, word: str, before: list[str]) -> bool:
    """Whether an antonym is what the sentence says: not a mere limit of its subject, nor one end of a span."""
    after = _words(slot.after)
    if word in _TEMPORAL:
        is_main = not _BE & set(after) and bool(after) and len(before) >= 2
        return is_main and _TWO_STATES.isdisjoint(before)
    timed = any(token.form in {Form.CLOCK, Form.DATE, Form.WEEKDAY} for token in slot.after)
    return not timed and not any(token.form is Form.FIGURE for token in slot.after[:2])


# -- Figures -------------------------------------------------------------------------------------


def _other_figure(slot: Slot) -> bool:
    pair = _single(slot)
    if pair is None or any(token.quantity is None for token in pair):
        return False
    ours, theirs = pair[0].quantity, pair[1].quantity
    assert ours is not None
    assert theirs is not None
    if not ours.measures_the_same(theirs) and not ours.differs_in_unit_only(theirs):
        return False
    if ours.amount == theirs.amount and ours.measures_the_same(theirs):
        return False
    return not _is_hedged(slot.before) and _has_one_figure(slot, measured=ours.dimension is not None)


def _is_hedged(before: tuple[Token, ...]) -> bool:
    return not _HEDGES.isdisjoint(_words(before[-2:])) or _words(before[-2:]) == ["up", "to"]


def _has_one_figure(slot: Slot, *, measured: bool) -> bool:
    """Whether the frame leaves room for one figure: not in a subject, not in the name of a numbered thing."""
    last = slot.before[-1].word
    following = slot.after[0].word if slot.after else ""
    if last in _NUMBERED or following in _BE:
        return False
    if measured and not _ends_measure(slot.after):
        return False
    if measured or last in _BE | _PREPOSITIONS | _VERBS:
        return True
    if slot.after and following not in _PREPOSITIONS:
        return _is_verb_like(slot.before)
    if last in _ONE_NUMBER or last in _ATTRIBUTES:
        return len(slot.before) > 1 and not _ONE_NUMBER_VERBS.isdisjoint(_words(slot.before))
    return not _BE.isdisjoint(_words(slot.before[1:]))


def _ends_measure(after: tuple[Token, ...]) -> bool:
    """Whether a figure stands for itself, and does not say which of several things is meant: the 5 mg tablets."""
    if not after or after[0].form is not Form.WORD:
        return True
    following = after[0]
    is_rate = unit_dimension(following.word) is not None or following.is_name
    return is_rate or following.word in _PREPOSITIONS | _AFTER_MEASURE or bool(following.article)


def _is_verb_like(before: tuple[Token, ...]) -> bool:
    last = before[-1]
    return len(before) > 1 and last.word.endswith("s") and last.key != last.word and not last.is_name


def _other_unit_of_rate(slot: Slot) -> bool:
    """Whether one counts per minute what the other counts per hour."""
    pair = _single(slot)
    if pair is None or slot.before[-1].word != "per":
        return False
    ours, theirs = (unit_dimension(token.word) for token in pair)
    return ours is not None and ours == theirs and pair[0].key != pair[1].key


def _other_clock(slot: Slot) -> bool:
    pair = _single(slot)
    if pair is None or {token.form for token in pair} != {Form.CLOCK}:
        return False
    if may_be_one_time(pair[0].key, pair[1].key) or _is_one_of_several(slot.before):
        return False
    led_by = [token for token in slot.before if token.word not in _PREPOSITIONS]
    takes_part = len(led_by) > 1 and bool(led_by[-1].article)  # "takes the bus at 8": there is another bus
    return not takes_part and not (led_by and led_by[0].word in _OFTEN)


def _is_one_of_several(before: tuple[Token, ...]) -> bool:
    """Whether the frame speaks of "a meeting", of which there may be more."""
    return any(token.article == "a" for token in before[1:]) or _is_hedged(before)


# -- Dates and values ----------------------------------------------------------------------------


def _other_date(slot: Slot, definite: bool) -> bool:
    pair = _single(slot)
    if pair is None or pair[0].form is not pair[1].form or pair[0].form not in {Form.DATE, Form.WEEKDAY}:
        return False
    words = set(_words(slot.before))
    if slot.before[0].article == "a":
        return False
    is_single = definite or not (_ATTRIBUTES | _ROLES | _EVENTS).isdisjoint(words) or "born" in words
    if not is_single or _is_one_of_several(slot.before):
        return False
    if pair[0].form is Form.DATE:
        return not _HELD_ONCE.isdisjoint(words) or "born" in words
    if not _TWO_STATES.isdisjoint(words):
        return False
    return _is_on_the_day(slot.before)


def _is_on_the_day(before: tuple[Token, ...]) -> bool:
    """Whether "is", or a participle of planning, leads to the weekday."""
    words = [token.word for token in before if token.word not in _PREPOSITIONS]
    return bool(words) and words[-1] in _BE | _SCHEDULED | _ONCE


def _other_value(slot: Slot, definite: bool) -> bool:
    if not _are_two_values(slot):
        return False
    led_by = " ".join(_words(slot.before))
    if _ONE_PLACE.search(led_by):
        return True
    if slot.before[-1].key == "prefer" and slot.after:
        return True
    if definite and _IN_A_PLACE.search(led_by):
        is_place = slot.ours[0].is_name or slot.ours[0].article == "the"
        return is_place and max(len(slot.ours), len(slot.theirs)) <= 2 and not slot.after
    return False


def _is_other_attribute(slot: Slot) -> bool:
    return _are_two_values(slot) and _names_an_attribute(slot)


def _are_two_values(slot: Slot) -> bool:
    """Whether words of one sort stand on both sides, which share none and of which neither lies in the other."""
    if any(token.form is not Form.WORD for token in slot.ours + slot.theirs):
        return False
    if {token.key for token in slot.ours} & {token.key for token in slot.theirs}:
        return False
    return not _lies_within(slot) and _are_of_one_sort(slot)


def _other_agent(slot: Slot) -> bool:
    """Whether one thing is led, owned or run by two: named, both persons as far as the words tell, and said of now."""
    words = _words(slot.before)
    if len(words) < 4 or words[-3] != "is" or words[-2] not in _LED or words[-1] != "by" or slot.after:
        return False
    first = slot.before[0]
    is_any = first.article == "a" or first.form is not Form.WORD or first.word in _SOME_OTHER
    if is_any or not _are_two_values(slot):
        return False
    sides = slot.ours, slot.theirs
    are_named = all(token.is_name for side in sides for token in side)
    of_many = [not _GROUPS.isdisjoint(_words(side)) for side in sides]
    return are_named and of_many[0] == of_many[1]


def _names_an_attribute(slot: Slot) -> bool:
    """Whether a noun that has one value, and "is", lead to what differs."""
    words = _words(slot.before)
    while words and words[-1] in _TITLES:
        words.pop()
    if not words or words[-1] not in _BE or slot.after:
        return False
    subject = {word.removesuffix("'s") for word in words[:-1]}
    if not _ROLES.isdisjoint(subject):
        return slot.ours[0].is_name and slot.theirs[0].is_name
    return not _ATTRIBUTES.isdisjoint(subject)


def _lies_within(slot: Slot) -> bool:
    """Whether one may be the country of the other: who lives in Lisbon lives in Portugal."""
    ours, theirs = ({token.word for token in side} & _COUNTRIES for side in (slot.ours, slot.theirs))
    return bool(ours) != bool(theirs)


def _are_of_one_sort(slot: Slot) -> bool:
    """Whether both sides are names, or neither is and both come with "the" or both without."""
    ours, theirs = slot.ours[0], slot.theirs[0]
    return ours.is_name == theirs.is_name and (ours.is_name or ours.article == theirs.article)
