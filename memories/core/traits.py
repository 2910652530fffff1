"""What a text does beside saying something: it asks, or it tells when. Kept with each memory as one small number.

Retrieval reads it for every memory of a vault, so it is worked out once, when the text is written.
"""

import re
from enum import IntFlag
from typing import Final

from memories.core.text import word_set


class Trait(IntFlag):
    """Bits of `Memory.traits`."""

    NONE = 0
    ASKS = 1  # it holds a question
    TELLS_TIME = 2  # it names a day, a month, a year, or how long ago


_QUESTION_MARKS: Final = re.compile("[?？؟]")
_WORD: Final = re.compile(r"[^\W\d_]+|(?<!\d)\d{4}(?!\d)")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")

MONTHS: Final = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
    )
    for number, name in enumerate(names.split(), start=1)
}
"""Month names in lower case → 1 to 12. "may" and "mars", "march" and "mai" need a second sign: see `AMBIGUOUS`."""

AMBIGUOUS: Final = word_set("may march mars mei")

_TIME_WORDS: Final = word_set(
    """yesterday today tonight tomorrow last next ago week weeks weekend weekends month months year years day days
    monday tuesday wednesday thursday friday saturday sunday recently since
    gestern heute morgen vorgestern letzte letzten letzter letztes nächste nächsten nächster woche wochen
    wochenende monat monate monaten jahr jahre jahren tag tage tagen montag dienstag mittwoch donnerstag freitag
    samstag sonntag seit kürzlich neulich
    hier aujourd demain semaine semaines mois an ans année années jour jours lundi mardi mercredi jeudi vendredi
    samedi dimanche depuis dernier dernière prochain prochaine
    ayer hoy mañana semana semanas mes meses año años día días lunes martes miércoles jueves viernes sábado
    domingo hace pasado pasada próximo próxima desde
    ieri oggi domani settimana settimane mese mesi anno anni giorno giorni lunedì martedì mercoledì giovedì venerdì
    sabato domenica scorso scorsa prossimo fa
    ontem hoje amanhã ano anos dia dias segunda terça quarta quinta sexta atrás
    gisteren vandaag morgen weken maand maanden jaar jaren dag dagen maandag dinsdag woensdag donderdag vrijdag
    zaterdag zondag geleden vorige volgende sinds"""
) | (MONTHS.keys() - AMBIGUOUS)


def traits_of(text: str) -> Trait:
    """Read a text's traits; one pass, whatever the text."""
    traits = Trait.ASKS if _QUESTION_MARKS.search(text) else Trait.NONE
    if any(word in _TIME_WORDS or _YEAR.fullmatch(word) for word in _WORD.findall(text.casefold())):
        traits |= Trait.TELLS_TIME
    return traits
