"""The year as a list of steps, oldest first: what was written, corrected, proposed, decided and asked, and when."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from contextpack.demo.year import words
from contextpack.demo.year.places import PLACES, Place

DAYS: Final = 365
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_NUMBERS: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen",
)  # fmt: skip
_MONTH: Final = re.compile(r"\{m\+(\d+)\}")
_WIKI: Final = "https://wiki.brightwater.example"
_CHAT: Final = "https://chat.brightwater.example/archives"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Step):
    """Something to remember, as its writer would send it."""

    key: str
    kind: str
    project: str
    who: str
    text: str
    url: str | None = None
    title: str = ""
    thread: str | None = None
    tags: tuple[str, ...] = ()
    summary: str | None = None
    confidence: float | None = None
    expires_at: datetime | None = None
    proposed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction(Step):
    """What stands in the place of an earlier note from then on; by an agent it is only proposed."""

    of: str
    key: str
    who: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste(Step):
    """A whole note, kept as evidence."""

    project: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Step):
    """What a person decided about a note: archive, redact or forget."""

    of: str
    verb: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Step):
    """A question of an agent, perhaps within a conversation."""

    task: str
    asker: str
    model: str | None
    budget: int
    project: str | None = None
    talk: str | None = None
    content_once: bool = False
    pin: bool = False


@dataclass(slots=True, kw_only=True)
class _Clock:
    """Days of the story to moments; hours are drawn, so that the year looks lived in."""

    end: datetime
    dice: random.Random
    first: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.first = (self.end - timedelta(days=DAYS)).replace(hour=0, minute=0, second=0, microsecond=0)

    def on(self, day: int) -> datetime:
        minutes = self.dice.randrange(8 * 60, 18 * 60)
        return self.first + timedelta(days=day, minutes=minutes, seconds=self.dice.randrange(60))


def year_until(end: datetime, *, seed: str) -> list[Step]:
    """Return the steps of the year that ends at a moment; equal for equal seeds and moments."""
    clock = _Clock(end=end, dice=random.Random(seed))
    steps = [
        *_lines(clock),
        *(step for place in PLACES for step in _about(place, clock)),
        *_releases(clock),
        *_incidents(clock),
        *_chains(clock),
        *_disputes(clock),
        *_again_and_at_length(clock),
        *_waiting(clock),
        *_gone(clock),
        *(
            Paste(at=clock.on(day), project=project, title=title, text=text)
            for day, project, title, text in words.NOTES
        ),
        *_questions(clock),
    ]
    return sorted(steps, key=lambda step: step.at)


def _dated(text: str, at: datetime) -> str:
    return _MONTH.sub(lambda found: _MONTHS[(at.month - 1 + int(found[1])) % 12], text)


def _lines(clock: _Clock) -> Iterator[Note]:
    every = (
        *words.DECISIONS, *words.RULES, *words.PREFERENCES, *words.PROCEDURES, *words.QUESTIONS, *words.FACTS,
        *words.ROUNDS,
    )  # fmt: skip
    for number, (day, kind, project, who, text) in enumerate(every):
        at = clock.on(day)
        yield Note(
            at=at,
            key=f"line-{number}",
            kind=kind,
            project=project,
            who=who,
            text=_dated(text, at),
            url=f"{_WIKI}/{project or 'company'}/{kind}-{number}" if kind != "observation" else None,
            title=_dated(text, at).split(". ")[0][:80] if kind in {"decision", "procedure"} else "",
            tags=(kind,) if kind in {"decision", "negative"} else (),
            thread="monday-rounds" if who == "agent" else None,
            confidence=0.95 if kind == "decision" else None,
        )


def _about(place: Place, clock: _Clock) -> Iterator[Note]:
    """Tell of one place: the trip, what hangs there, its oddity, a later visit, what its people want."""
    slug = _slug(place.name)
    trip = f"{_WIKI}/trips/{slug}"

    def note(key: str, after: int, kind: str, who: str, text: str) -> Note:
        day = min(place.day + after, DAYS - 2)
        return Note(
            at=clock.on(day), key=f"{slug}-{key}", kind=kind, project=words.PIER, who=who, text=text,
            url=f"{trip}#{key}", title=f"{place.name}: {key}", tags=(slug,),
        )  # fmt: skip

    helper = ("Hana", "Tomas", "Ines", "Marek")[place.day % 4]
    probes = _NUMBERS[place.probes]
    trip_told = (
        f"Otis and {helper} hung {probes} probes at {place.name} for {place.customer}; all of them reported before the tide turned.",
        f"{probes.capitalize()} probes went into the water at {place.name}. {helper} stayed on the quay, Otis was wet.",
        f"Installation at {place.name} done: {probes} probes for {place.customer}, on {place.hangs}.",
        f"{place.customer} has its {probes} probes at {place.name}. The last one was hung by torchlight, with {helper} on the rope.",
        f"At {place.name} {probes} probes hang since today; {place.contact} helped with the boat and wants the chart by Friday.",
        f"Two days for {probes} probes at {place.name}: wind on the first, work on the second. {helper} took the photos with the serial numbers.",
    )
    yield note("trip", 0, "event", "Otis Brandt", trip_told[PLACES.index(place) % len(trip_told)])
    yield note(
        "setup",
        1,
        "claim",
        "Otis Brandt",
        f"At {place.name} the probes hang on {place.hangs}, and report over {place.link}.",
    )
    yield note(
        "oddity",
        6,
        "claim",
        "Otis Brandt",
        place.oddity
        if place.name in place.oddity
        else f"{place.name}: {place.oddity[0].lower()}{place.oddity[1:]}",
    )
    yield note(
        "visit",
        58 + place.day % 40,
        "event",
        "Otis Brandt",
        f"Visit to {place.name}: {place.visit[0].lower()}{place.visit[1:]}",
    )
    yield note(
        "wish",
        20 + place.day % 17,
        "preference",
        "Hana Sato",
        f"{place.contact} of {place.customer} {place.wish}.",
    )


def _slug(name: str) -> str:
    return re.sub(r"\W", "-", name.lower())


def _releases(clock: _Clock) -> Iterator[Note]:
    for day, project, version, told in words.RELEASES:
        product = "Firmware" if project == words.KELP else "Lagoon"
        yield Note(
            at=clock.on(day),
            key=f"release-{product.lower()}-{version}",
            kind="event",
            project=project,
            who="importer",
            text=f"{product} {version} {told}.",
            url=f"{_WIKI}/{project}/releases/{version}",
            title=f"{product} {version}",
            tags=("release",),
        )


def _incidents(clock: _Clock) -> Iterator[Note]:
    for number, (day, project, happened, cause, since) in enumerate(words.INCIDENTS):
        thread = f"incident-{number + 1:02}"
        told = (
            ("happened", 0, "event", "Hana Sato", happened),
            ("cause", 1, "claim", "Ines Moreau", cause),
            ("since", 4, "procedure", "Ines Moreau", since),
        )
        for key, after, kind, who, text in told:
            at = clock.on(day + after)
            yield Note(
                at=at, key=f"{thread}-{key}", kind=kind, project=project, who=who, text=_dated(text, at),
                url=f"{_CHAT}/{thread}#{key}", title=f"Post-mortem {number + 1}", thread=thread, tags=("incident",),
            )  # fmt: skip


def _chains(clock: _Clock) -> Iterator[Step]:
    for number, (kind, project, who, links) in enumerate(words.CHAINS):
        (day, text, _), *later = links
        key = f"chain-{number}"
        yield Note(
            at=clock.on(day), key=key, kind=kind, project=project, who=who, text=text,
            url=f"{_WIKI}/{project}/changes/{number}",
        )  # fmt: skip
        for place, (day, text, reason) in enumerate(later):
            before, key = key, f"chain-{number}-{place}"
            yield Correction(at=clock.on(day), of=before, key=key, who=who, text=text, reason=reason)


def _disputes(clock: _Clock) -> Iterator[Note]:
    for number, (project, *sides) in enumerate(words.DISPUTES):
        for place, (day, who, text) in enumerate(sides):
            yield Note(
                at=clock.on(day), key=f"dispute-{number}-{place}", kind="claim", project=project, who=who, text=text,
                url=f"{_CHAT}/{project}/{day}",
            )  # fmt: skip


def _again_and_at_length(clock: _Clock) -> Iterator[Note]:
    for number, (day, kind, project, text) in enumerate(words.RESTATED):
        yield Note(
            at=clock.on(day), key=f"again-{number}", kind=kind, project=project, who="agent", text=text,
            url=f"{_CHAT}/{project}/{day}",
        )  # fmt: skip
    for number, (day, kind, project, who, text, summary) in enumerate(words.REPORTS):
        yield Note(
            at=clock.on(day), key=f"report-{number}", kind=kind, project=project, who=who, text=text,
            summary=summary or None, url=f"{_WIKI}/{project}/reports/{number}",
        )  # fmt: skip


def _waiting(clock: _Clock) -> Iterator[Step]:
    for number, (day, project, kind, text) in enumerate(words.PROPOSALS):
        yield Note(
            at=clock.on(day), key=f"proposal-{number}", kind=kind, project=project, who="agent", text=text,
            url=f"{_CHAT}/{project}/{day}", proposed=True, confidence=0.6,
        )  # fmt: skip
    for number, (day, old, text, reason) in enumerate(words.OVERRULINGS):
        yield Correction(
            at=clock.on(day),
            of=_key_of(old),
            key=f"overruling-{number}",
            who="agent",
            text=text,
            reason=reason,
        )
    for number, (day, project, text) in enumerate(words.HOSTILE):
        yield Note(
            at=clock.on(day), key=f"hostile-{number}", kind="claim", project=project, who="importer", text=text,
            url=f"https://forum.example/t/{4000 + number}", title="From the forum",
        )  # fmt: skip


def _key_of(beginning: str) -> str:
    every = (
        *words.DECISIONS, *words.RULES, *words.PREFERENCES, *words.PROCEDURES, *words.QUESTIONS, *words.FACTS,
    )  # fmt: skip
    return next(f"line-{number}" for number, line in enumerate(every) if line[4].startswith(beginning))


def _gone(clock: _Clock) -> Iterator[Step]:
    day, project, text = words.REDACTED
    yield Note(at=clock.on(day), key="redacted", kind="claim", project=project, who="Leila Haddad", text=text)
    yield Verdict(at=clock.on(day + 40), of="redacted", verb="redact")
    for number, (day, project, text) in enumerate(words.FORGOTTEN):
        key = f"forgotten-{number}"
        yield Note(at=clock.on(day), key=key, kind="claim", project=project, who="Hana Sato", text=text)
        yield Verdict(at=clock.on(day + 12), of=key, verb="forget")
    for number, (day, project, text, days) in enumerate(words.EXPIRING):
        at = clock.on(day)
        yield Note(
            at=at, key=f"expiring-{number}", kind="claim", project=project, who="Otis Brandt", text=text,
            expires_at=at + timedelta(days=days),
        )  # fmt: skip
    for number in (0, 6, 13):  # rounds that nobody needs any more
        line = len(
            words.DECISIONS
            + words.RULES
            + words.PREFERENCES
            + words.PROCEDURES
            + words.QUESTIONS
            + words.FACTS
        )
        yield Verdict(at=clock.on(358), of=f"line-{line + number}", verb="archive")


# -- Questions -----------------------------------------------------------------------------------

_BUDGETS: Final = (800, 1_200, 2_000, 3_000)


def _questions(clock: _Clock) -> Iterator[Question]:
    for number, task in enumerate(words.ONE_OFF_QUESTIONS):
        yield Question(
            at=clock.on(50 + number * 17), task=task, asker=("editor", "support", "office")[number % 3],
            model=("claude-sonnet-4-5", None, "gpt-5", "cursor")[number % 4],
            budget=_BUDGETS[number % 4], pin=number % 5 == 0,
        )  # fmt: skip
    for number, (day, task) in enumerate(words.BRIEF_QUESTIONS):
        for later, budget in enumerate(words.BRIEF_BUDGETS):
            yield Question(
                at=clock.on(day + later), task=task, asker=("editor", "office")[number % 2], model="claude-haiku-4-5",
                budget=budget,
            )  # fmt: skip
    for number, (day, name, asker, model, project, tasks) in enumerate(words.TALKS):
        yield from _talk(
            clock, number, day=day, name=name, asker=asker, model=model, project=project, tasks=tasks
        )
    for number, place in enumerate(PLACES[::2][:12]):
        tasks = (
            f"Prepare a trip to {place.name}: what do we know?",
            f"How do the probes of {place.name} hang and report?",
            f"What does {place.contact} want?",
            "Which rules apply on the boat and on the quay?",
            f"What was found on the last visit to {place.name}?",
        )[: 4 + number % 2]
        yield from _talk(
            clock, number + 1, day=min(place.day + 90 + number * 5, 362), name=f"trip-{_slug(place.name)}",
            asker="field", model="gpt-5", project=words.PIER, tasks=tasks,
        )  # fmt: skip


def _talk(
    clock: _Clock,
    number: int,
    *,
    day: int,
    name: str,
    asker: str,
    model: str,
    project: str,
    tasks: tuple[str, ...],
) -> Iterator[Question]:
    at = clock.on(day)
    for task in tasks:
        yield Question(
            at=at, task=task, asker=asker, model=model, budget=_BUDGETS[1 + number % 3], project=project or None,
            talk=name, content_once=number % 2 == 0,
        )  # fmt: skip
        hours = words.SLOW_TALKS.get(name, 0)
        at += timedelta(hours=hours, minutes=clock.dice.randrange(2, 40))
