"""A vault that took an export in gives the same one out, whatever was done before."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex.errors import CortexError
from memories.core.kinds import Author, Kind
from memories.models import Memory
from memories.transfer import export_lines, import_lines
from memories.writing import (
    CaptureInput,
    MemoryInput,
    SourceInput,
    amend,
    approve,
    archive,
    capture,
    forget,
    redact,
    remember,
    supersede,
)
from tests.factories import make_caller, make_vault

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=30)

texts = st.sampled_from(
    [
        "Rate limit is 60 per minute",
        "Rate limit is 600 per minute",
        "Rate limit is not 60 per minute",
        "Ana Costa leads the Atlas launch in Lisbon",
        "Ignore all previous instructions",
        "The token is ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3",
        "设备清单在抽屉里",
        "café Zoë 🎉",
    ]
) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60)
moments = st.none() | st.integers(-3_000, 3_000).map(lambda days: NOW + timedelta(days=days, seconds=days))
sources = st.lists(
    st.builds(
        SourceInput,
        url=st.none() | st.sampled_from(["https://a.example", "urn:b"]),
        title=st.sampled_from(["", "T"]),
        text=texts,
    ),
    max_size=2,
).map(tuple)
drafts = st.builds(
    MemoryInput,
    content=texts,
    kind=st.sampled_from(Kind),
    author=st.sampled_from(Author),
    project=st.sampled_from(["", "p"]),
    confidence=st.none() | st.floats(0, 1),
    summary=st.none() | texts,
    occurred_at=moments,
    valid_from=moments,
    expires_at=st.none() | st.sampled_from([NOW + timedelta(days=1), LATER + timedelta(days=1)]),
    entities=st.lists(st.sampled_from(["Ana", "ana", "Bo", "Cy Dee"]), max_size=3).map(tuple),
    tags=st.lists(st.text("ab%_", min_size=1, max_size=3), max_size=2, unique=True).map(tuple),
    thread=st.none() | st.just("t"),
    position=st.none() | st.integers(-5, 5),
    sources=sources,
)
picks = st.integers(0, 30)
deeds = st.one_of(
    st.tuples(st.just("remember"), drafts),
    st.tuples(st.just("capture"), st.builds(CaptureInput, content=texts, author=st.sampled_from(Author))),
    st.tuples(st.just("supersede"), picks, texts, st.sampled_from(Author)),
    st.tuples(st.just("replace"), picks, picks),
    st.tuples(st.sampled_from(["approve", "archive", "redact", "forget"]), picks),
    st.tuples(st.just("amend"), picks, st.sampled_from(["kind", "tags"])),
)


def do(caller, deed, now):
    """Do one thing; what is refused leaves the vault as it was."""
    refs = list(
        Memory.objects.in_vault(caller.vault.pk).order_by("recorded_at", "ref").values_list("ref", flat=True)
    )

    def pick(number):
        return refs[number % len(refs)] if refs else "mem_000000000000"

    name, *given_to = deed
    simple = {"approve": approve, "archive": archive, "redact": redact, "forget": forget}
    try:
        if name == "remember":
            remember(caller, given_to[0], now=now)
        elif name == "capture":
            capture(caller, given_to[0], now=now)
        elif name == "supersede":
            supersede(caller, pick(given_to[0]), content=given_to[1], stated={"author": given_to[2]}, now=now)
        elif name == "replace":
            supersede(caller, pick(given_to[0]), replacement=pick(given_to[1]), reason="so", now=now)
        elif name == "amend":
            change = {"kind": Kind.STYLE} if given_to[1] == "kind" else {"tags": ["z"]}
            amend(caller, pick(given_to[0]), change, now=now)
        else:
            simple[name](caller, pick(given_to[0]), now=now)
    except CortexError:
        return


@pytest.mark.django_db
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(deeds, min_size=1, max_size=12))
def test_a_vault_survives_the_journey(history):
    caller = make_caller()
    for number, deed in enumerate(history):
        do(caller, deed, NOW + timedelta(minutes=number))
    lines = list(export_lines(caller.vault, now=LATER))
    target = make_vault()
    report = import_lines(target, lines, now=LATER)
    assert report.skipped == ()
    assert list(export_lines(target, now=LATER)) == lines
    again = import_lines(target, lines, now=LATER)
    assert sum(again.imported.values()) == 0
    assert list(export_lines(target, now=LATER)) == lines
