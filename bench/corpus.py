"""Synthetic memories and questions: sentences with names, days and figures, the same for the same seed.

Twelve subjects, each with words of its own; everything else is shared, so that there are rare words and frequent
ones as in real notes. People, places and companies are invented.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

SEED: Final = 20_260_504
NEWEST: Final = datetime(2026, 5, 4, 17, 0, tzinfo=UTC)
SPAN_MINUTES: Final = 200 * 24 * 60

PEOPLE: Final = (
    "Mira Okafor", "Jonas Weber", "Priya Nair", "Tomas Silva", "Lena Fischer", "Aiko Tanaka", "Samir Haddad",
    "Olga Petrova", "Nils Berg", "Carmen Ruiz", "Kofi Mensah", "Yara Haddad", "Piotr Nowak", "Ingrid Dahl",
    "Marco Rossi", "Fatou Diallo", "Henrik Lund", "Noor Aziz", "Ewa Kowalska", "Ravi Menon",
)  # fmt: skip
PLACES: Final = (
    "Lisbon", "Graz", "Tampere", "Leuven", "Porto", "Malmö", "Zürich", "Galway", "Trieste", "Gdańsk", "Utrecht",
    "Bergen",
)  # fmt: skip

SUBJECTS: Final[Mapping[str, Sequence[str]]] = {
    "cold store": ("compressor", "door seal", "defrost cycle", "temperature log", "pallet lift", "ammonia sensor"),
    "billing": ("invoice template", "refund queue", "tax table", "dunning letter", "card processor", "credit note"),
    "route planner": ("detour list", "bridge closure", "tile cache", "turn penalty", "depot map", "gradient model"),
    "search service": ("synonym file", "ranking weights", "index rebuild", "stop list", "query log", "typo rules"),
    "mobile app": ("splash screen", "offline maps", "push token", "crash report", "beta channel", "font scaling"),
    "hiring": ("job advert", "trial day", "reference call", "salary band", "interview rota", "visa letter"),
    "data pipeline": ("nightly export", "dead letter queue", "schema registry", "backfill job", "event stream", "lag alarm"),
    "office": ("coffee machine", "bike cellar", "badge reader", "meeting rooms", "heating valve", "recycling bins"),
    "support desk": ("macro library", "escalation path", "chat widget", "weekend shift", "satisfaction survey", "ticket tags"),
    "warehouse": ("forklift permit", "label printer", "picking path", "returns cage", "shelf count", "loading dock"),
    "security": ("key rotation", "phishing drill", "backup vault", "access review", "audit trail", "firewall rule"),
    "marketing site": ("landing page", "newsletter form", "press kit", "cookie banner", "image gallery", "pricing table"),
}  # fmt: skip
SAYINGS: Final = (
    "{who} found that the {thing} in {place} needs {n} days longer than planned",
    "{who} and {other} moved the review of the {thing} to {day}",
    "after {n} complaints the {thing} was taken off the {subject} roadmap in {place}",
    "{who} asked {other} to test the {thing} again before the visit to {place} on {day}",
    "the {subject} group counted {n} open points around the {thing} and gave {m} of them to {who}",
    "on {day} {who} showed visitors in {place} how the {thing} copes with {n} requests a second",
    "{other} reported from {place} that the {thing} failed {n} times within {m} hours",
    "{who} wrote down how the {thing} was repaired in {place} with {n} spare parts",
    "{other} prefers to check the {thing} by hand each morning, whatever the dashboard claims",
    "we keep the {thing} of {place} on the old contract until {day}, because switching costs {m} weeks",
    "nobody but {who} may change the {thing} while auditors sit in {place}",
    "to restart the {thing}, unplug it, wait {n} seconds, and ring {other} if the lamp stays dark",
    "since the flood in {place} the {thing} runs from a borrowed generator that {who} refuels",
    "{who} bought a second-hand {thing} at auction and drove it to {place} overnight",
    "customers around {place} praised the new {thing}; {n} of them sent photographs",
    "the insurer wants {n} pages about the {thing} and a signature by {other}",
    "is the {thing} still under warranty, or did it lapse when {who} left for {place}",
    "{other} drew the {thing} on a napkin, and that sketch is all the documentation there is",
    "budget for the {thing} shrank by a {m}th; {who} cut training and kept the hardware",
    "trainees learn the {thing} from {who} on {day}, in groups of {n} at most",
    "a loose cable behind the {thing} in {place} explained {n} mysterious outages",
    "{who} argued for a rented {thing}, {other} for an own one; renting won",
    "in {place} the {thing} gets cleaned twice a season with vinegar and patience",
    "the prototype of the {thing} survived a fall of {m} metres, to the surprise of {other}",
)
AFTERTHOUGHTS: Final = (
    "",
    "",
    "Nobody objected.",
    "The notes of that meeting are with {other}.",
    "It will come up again in the {subject} round, since {place} has the same trouble.",
    "{other} calls this the third surprise of its kind within a year, and wants a short written summary with "
    "figures before anything else is bought.",
    "An offer for the {thing} came on {day}, for {m},{n:02d}0 euros without delivery.",
    "Photographs hang beside the lift.",
    "A drawing from {day} shows the left-hand valve mirrored and should be burnt.",
    "Marked as low risk by the safety officer.",
    "A spare is stored in {place}, third shelf, behind the paint.",
    "{other} remembers it differently, but has no record to prove it.",
)
KINDS: Final = (
    "claim", "claim", "claim", "observation", "observation", "event", "event", "decision", "procedure", "question",
    "preference",
)  # fmt: skip
DAYS: Final = tuple(f"{day} {month}" for month in ("March", "April", "May", "June") for day in range(1, 29))
COMMON: Final = (
    "What did the group say about the notes and the visit this year",
    "which of these came up again, and who has the notes of the meeting",
    "what was found, what was moved, and what is still there",
    "who wants a short summary with figures before anything is bought",
    "what is the same trouble, and which record shows it wrong",
)


def memories(count: int) -> list[dict[str, Any]]:
    """Return the bodies of so many memories, the same ones each time."""
    dice = random.Random(SEED)
    return [_memory(dice, number) for number in range(count)]


def content_questions(count: int) -> list[str]:
    """Return questions in rare words: a thing, a place, a person."""
    dice = random.Random(SEED + 1)
    return [_question(dice) for _ in range(count)]


def common_questions(count: int) -> list[str]:
    """Return questions in words that a large part of all memories has."""
    return [f"{COMMON[number % len(COMMON)]} ({DAYS[number % len(DAYS)]})?" for number in range(count)]


def in_portions(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _memory(dice: random.Random, number: int) -> dict[str, Any]:
    slots = _slots(dice)
    said = dice.choice(SAYINGS).format_map(slots)
    text = f"{said[0].upper()}{said[1:]}. {dice.choice(AFTERTHOUGHTS).format_map(slots)}".strip()
    return {
        "content": text,
        "kind": dice.choice(KINDS),
        "author": dice.choice(("user", "agent", "import")),
        "occurred_at": (NEWEST - timedelta(minutes=dice.randrange(SPAN_MINUTES))).isoformat(),
        "source": {"url": f"https://notes.example/{number}"},
    }


def _slots(dice: random.Random) -> dict[str, Any]:
    who, other = dice.sample(PEOPLE, 2)
    subject = dice.choice(tuple(SUBJECTS))
    return {
        "who": who,
        "other": other,
        "subject": subject,
        "thing": dice.choice(SUBJECTS[subject]),
        "place": dice.choice(PLACES),
        "day": dice.choice(DAYS),
        "n": dice.randint(2, 90),
        "m": dice.randint(2, 40),
    }


def _question(dice: random.Random) -> str:
    slots = _slots(dice)
    asked = dice.choice(
        (
            "What does {who} know about the {thing} in {place}?",
            "Why did the {thing} fail in {place}?",
            "Plan the next {subject} round: {thing}, owners, open points in {place}",
            "How was the {thing} repaired, and who has the notes?",
        )
    )
    return asked.format_map(slots)
