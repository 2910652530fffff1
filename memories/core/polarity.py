"""Words by which one sentence says the opposite of another: negations and antonyms, of a few languages.

A pair of antonyms counts where the rest of two sentences is the same. Those in `ANYWHERE` decide wherever they
stand; the others only in the one place where the sentences differ, and not all of them beside every verb.
"""

from typing import Final

from memories.core.text import word_set

NEGATIONS: Final = word_set(
    """not no never none nobody nothing nowhere neither nor cannot without hardly cant dont doesnt didnt isnt arent
    wasnt werent wont wouldnt shouldnt couldnt mustnt hasnt havent hadnt aint neednt
    nicht kein keine keinen keinem keiner nie niemals ohne ne pas jamais aucun aucune sans nunca jamas sin nao nem
    sem non mai senza niet geen nooit inte aldrig ikke aldri не нет никогда без ні nie nigdy bez yok degil
    لا ليس لم لن بدون नही नहीं न मत"""
)

ANYWHERE: Final = tuple(
    (word_set(left), word_set(right))
    for left, right in [
        ("enabled enable enables", "disabled disable disables off"),
        ("on", "off"),
        ("allowed allow allows permitted", "forbidden forbid forbids denied deny denies blocked block blocks prohibited"),
        ("true", "false"),
        ("public", "private"),
        ("likes like loves love", "dislikes dislike hates hate"),
        ("required mandatory", "optional"),
        ("synchronous", "asynchronous"),
        ("automatic automatically", "manual manually"),
        ("active", "inactive"),
        ("valid", "invalid"),
        ("internal", "external"),
        ("possible", "impossible"),
        ("safe", "unsafe"),
        ("supported", "unsupported"),
        ("vegetarian vegan", "carnivore"),
        ("always", "never"),
    ]
)  # fmt: skip

# Of one subject and one object, these cannot both be said.
VERBS: Final = tuple(
    (word_set(left), word_set(right))
    for left, right in [
        ("starts start", "stops stop"),
        ("includes include contains", "excludes exclude"),
        ("accepts accept", "rejects reject refuses refuse"),
        ("passes pass succeeds", "fails fail"),
        ("approves approve", "declines decline rejects"),
        ("increases increase raises", "decreases decrease reduces lowers"),
        ("supports", "opposes"),
        ("agrees", "disagrees"),
        ("wins", "loses"),
        ("enjoys enjoy", "dislikes hates detests"),
        ("adore aime", "deteste"),
        ("liebt mag", "hasst"),
        ("ama adora", "odia detesta"),
        ("remembers", "forgets"),
        ("before", "after"),
        ("above", "below"),
        ("inside", "outside"),
        ("vor", "nach"),
        ("avant", "apres"),
        ("antes", "despues"),
    ]
)

# Said of one thing by "is", or before "than".
STATES: Final = tuple(
    (word_set(left), word_set(right))
    for left, right in [
        ("open opened ouvert ouverte abierto abierta offen geoffnet", "closed shut ferme fermee cerrado cerrada geschlossen zu"),
        ("older", "younger"),
        ("taller", "shorter"),
        ("bigger larger", "smaller"),
        ("faster", "slower"),
        ("cheaper", "dearer pricier costlier"),
        ("higher", "lower"),
        ("heavier", "lighter"),
        ("better", "worse"),
        ("earlier sooner", "later"),
        ("more", "less fewer"),
        ("left-handed", "right-handed"),
        ("married", "single unmarried divorced"),
        ("alive", "dead"),
        ("online", "offline"),
        ("broken", "fixed repaired"),
        ("full", "empty"),
        ("present", "absent"),
        ("free gratis", "paid"),
        ("permanent", "temporary"),
        ("obligatorisch pflicht", "freiwillig optional"),
        ("obligatoire", "facultatif facultative"),
        ("obligatorio obligatoria", "opcional"),
        ("erlaubt", "verboten"),
        ("autorise autorisee permis", "interdit interdite"),
        ("permitido permitida", "prohibido prohibida"),
        ("aktiviert an eingeschaltet", "deaktiviert aus ausgeschaltet"),
        ("active activee", "desactive desactivee"),
        ("activado activada", "desactivado desactivada"),
        ("an", "aus"),
    ]
)  # fmt: skip

# Each of these shuts out the others of its line.
ALTERNATIVES: Final = tuple(
    word_set(words)
    for words in (
        "hourly daily weekly fortnightly monthly quarterly yearly annually",
        "once twice thrice",
        "clockwise anticlockwise counterclockwise",
        "left right",
        "north south east west northern southern eastern western",
        "horizontally vertically",
        "ascending descending",
        "morning afternoon evening",
        "inbound outbound",
        "links rechts",
        "stundlich taglich wochentlich monatlich jahrlich",
        "quotidien hebdomadaire mensuel annuel",
        "diario semanal mensual anual",
    )
)
COLOURS: Final = word_set(
    """red green blue yellow black white grey gray brown orange purple pink
    rot grun blau gelb schwarz weiss grau rouge vert verte bleu bleue noir noire blanc blanche jaune
    rojo roja verde azul negro negra blanco blanca amarillo amarilla"""
)

_DENYING_PREFIXES: Final = ("un", "non-", "non", "dis")
_SHORTEST_DENIED: Final = 5
# With and without their first letters these are two words, but no opposites.
_NO_DENIALS: Final = word_set(
    """play plays cover covers close closes count counts charge charges order orders patch patches solve solves
    pose poses tribute able position tinct tress tribute course courses temper ease sent section"""
)


def is_denied_by_prefix(a: str, b: str) -> bool:
    """Whether one word is the other with a prefix that denies it: locked and unlocked."""
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < _SHORTEST_DENIED or shorter in _NO_DENIALS:
        return False
    return any(longer == prefix + shorter for prefix in _DENYING_PREFIXES)
