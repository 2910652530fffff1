"""What is stored is text on every page: no tag, no handler, no formula, no address that runs as a script."""

import re
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from contextpack.models import Pin, Probe, Receipt
from cortex.api.middleware import CONTENT_SECURITY_POLICY
from memories.admin.inbox import inbox_url
from memories.admin.linking import followable, list_url, row_url
from memories.models import (
    AccessToken,
    Capture,
    Conflict,
    Entity,
    Memory,
    ProposedSupersession,
    Source,
    Tombstone,
)
from sessions.models import WorkingSession
from tests.admin.rows import (
    decide,
    left_out,
    make_capture,
    make_conflict,
    make_decision,
    make_pin,
    make_probe,
    make_receipt,
    make_session,
    make_tombstone,
    mention,
    served,
)
from tests.factories import make_memory, make_token

IMAGE = '<img src=x onerror="alert(1)">'
HOSTILE = (
    IMAGE,
    '"><script>alert(1)</script>',
    '=HYPERLINK("http://evil.example")',
    "{{ 7|add:7 }}{% now 'Y' %}",
)
_KINDS = {
    AccessToken: "pk",
    Capture: "ref",
    Conflict: "ref",
    Entity: "ref",
    Memory: "ref",
    Pin: "pk",
    Probe: "ref",
    Receipt: "ref",
    Tombstone: "ref",
    WorkingSession: "pk",
}


class Anatomy(HTMLParser):
    """The parts of a page that could run or lead away."""

    def __init__(self) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)
        self.inline += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        self.addresses += [
            str(given[name]) for name in ("href", "src", "action", "formaction") if given.get(name)
        ]
        self.inline += [tag] if tag in {"iframe", "object", "embed", "base"} else []


def anatomy_of(html: str) -> Anatomy:
    found = Anatomy()
    found.feed(html)
    return found


@pytest.fixture
def full_of(vault):
    """Fill the vault with rows of every kind that carry a text wherever text fits."""

    def fill(text: str) -> None:
        left = make_memory(vault, content=text, summary=text, tags=[text], thread=text, speaker=text)
        right = make_memory(vault, content=f"{text}.", superseded_by=left.ref, flags=[text], reviewed_by=text)
        mention(left, f"A {text}"[:200])
        make_conflict(left, right)
        new = make_memory(vault, content=f"{text} too", status="pending", flags=[text], project=text[:100])
        ProposedSupersession.objects.create(vault=vault, old=left, new=new, actor=text, reason=text)
        make_memory(vault, content=f"{text} held", withheld=True, source_url=text)
        make_decision(new, reason=text)
        capture = make_capture(vault, text, title=text, url=text, source=text, project=text)
        Source.objects.create(vault=vault, memory=left, capture=capture, url=text, title=text, text=text)
        make_tombstone(vault)
        make_session(vault, left.ref, session_id=text)
        why = {"retrievers": [text], "matched_terms": [text], "fused_rank": 1}
        make_receipt(
            vault,
            task=text,
            actor=text,
            session_id=text,
            items=[served(left.ref, why=why)],
            fates=[left_out(text)],
        )
        make_pin(vault, left.ref)
        make_probe(vault, name=text[:100], task=text, model=text, project=text[:100], must=[text, left.ref])
        make_token(vault, name=text[:100], projects=[text])

    return fill


def _asked_in(vault) -> list[dict[str, str]]:
    """Questions of the playground whose every field is somebody's text."""
    asked = [
        {"task": text, "ref": text, "token": text, "model": text, "beside": f"{text}!"} for text in HOSTILE
    ]
    token = AccessToken.objects.filter(vault_id=vault.pk).values_list("pk", flat=True).first()
    return [
        {"vault": vault.pk, **one, "token": chosen} for one in asked for chosen in (str(token), one["token"])
    ]


def pages_of(page: Client, vault) -> dict[str, str]:
    addresses = [list_url(model, vault.pk) for model in _KINDS]
    for model, key in _KINDS.items():
        addresses += [
            row_url(model, vault.pk, value)
            for value in model._default_manager.filter(vault_id=vault.pk).values_list(key, flat=True)
        ]
    addresses += [
        f"{row_url(Probe, vault.pk, ref)}?run=1" for ref in Probe.objects.values_list("ref", flat=True)
    ]
    addresses += [
        reverse("admin:index"),
        f"{reverse('admin:overview')}?vault={vault.pk}&run=1",
        reverse("admin:contextpack_probe_add"),
        inbox_url(vault),
        *(f"{reverse('admin:playground')}?{urlencode(asked)}" for asked in _asked_in(vault)),
        reverse("admin:memories_vault_changelist"),
        reverse("admin:memories_vault_change", args=(vault.pk,)),
        reverse("admin:memories_vault_add"),
        reverse("admin:memories_accesstoken_add"),
        reverse("admin:password_change"),
        reverse("admin:auth_user_changelist"),
        reverse("admin:auth_user_add"),
    ]
    answers = {address: page.get(address) for address in addresses}
    assert {answer.status_code for answer in answers.values()} == {200}
    assert {answer["Content-Security-Policy"] for answer in answers.values()} == {CONTENT_SECURITY_POLICY}
    return {address: answer.content.decode() for address, answer in answers.items()}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_page_has_anything_inline_or_leads_to_a_script(page, vault, full_of, text):
    full_of(text)
    for address, html in pages_of(page, vault).items():
        found = anatomy_of(html)
        assert found.inline == [], address
        assert [target for target in found.addresses if not re.match(r"[/?#.]|https?://", target)] == [], (
            address
        )


def test_hostile_text_is_shown_as_it_is(page, vault, full_of):
    full_of(IMAGE)
    memory = Memory.objects.get(vault_id=vault.pk, content=IMAGE)
    html = pages_of(page, vault)[row_url(Memory, vault.pk, memory.ref)]
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;" in html
    assert IMAGE not in html


def test_a_formula_stays_text(page, vault):
    memory = make_memory(vault, content='=HYPERLINK("http://evil.example", "click")')
    html = page.get(row_url(Memory, vault.pk, memory.ref)).content.decode()
    assert "=HYPERLINK(&quot;http://evil.example&quot;, &quot;click&quot;)" in html
    assert 'href="http://evil.example' not in html


def test_hostile_text_is_inert_in_questions_and_messages(page, vault):
    make_memory(vault, content=IMAGE)
    session = make_session(vault, session_id=IMAGE)
    memory = Memory.objects.get(vault_id=vault.pk)
    answers = [
        decide(page, "forget", memory),
        decide(page, "archive", memory),
        decide(page, "archive", memory),
        page.get(list_url(WorkingSession, vault.pk, q=IMAGE)),
        page.get(list_url(Memory, vault.pk, q=IMAGE, in_project=IMAGE, entity=IMAGE)),
        page.get(row_url(WorkingSession, vault.pk, session.pk).replace("/change/", "/history/")),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert IMAGE not in answer.content.decode()
        assert anatomy_of(answer.content.decode()).inline == []


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "\x01javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.example/x",
        "http:javascript",
        "http://",
        "http://[",
        "https://exa mple.org",
        "http://example.org/\u202egpj.exe",
        "",
    ],
)
def test_only_a_web_address_becomes_a_link(page, vault, url):
    assert followable(vault.pk, url) is None
    memory = make_memory(vault, source_url=None)
    Source.objects.create(vault=vault, memory=memory, url=url)
    html = page.get(row_url(Memory, vault.pk, memory.ref)).content.decode()
    sources = html[html.index('id="sources"') : html.index('id="entities"')]
    assert "href" not in sources


@pytest.mark.parametrize(
    "url", ["https://example.org/a?b=c#d", "http://localhost:8000/x", "HTTPS://Example.org"]
)
def test_a_web_address_is_a_link_that_gives_nothing_away(page, vault, url):
    memory = make_memory(vault, source_url=url)
    html = page.get(row_url(Memory, vault.pk, memory.ref)).content.decode()
    assert f'<a href="{url}" rel="noopener noreferrer nofollow">{url}</a>' in html


def test_the_login_page_works_under_the_policy(client, person, vault):
    login = reverse("admin:login")
    response = client.get(login)
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert anatomy_of(response.content.decode()).inline == []
    entered = client.post(login, {"username": "ana", "password": "correct horse battery", "next": "/admin/"})
    assert entered["Location"] == "/admin/"


def test_the_style_sheet_is_served_by_the_server_itself(page, vault):
    html = page.get(reverse("admin:index")).content.decode()
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)"', html)
    assert "/static/memories/admin.css" in sheets
    assert all(sheet.startswith("/static/") for sheet in sheets)
