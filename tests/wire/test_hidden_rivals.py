"""What a write answers depends on what its token sees, and on nothing that others wrote where it does not look."""

import pytest
from django.utils import timezone

from memories.models import Capture, Memory, Scope
from memories.writing.contradicting import CANDIDATES
from memories.writing.inferring import infer
from tests.clients import api_of
from tests.wire.asking import pack

pytestmark = pytest.mark.django_db

OWN = ("ref", "captured_at", "recorded_at", "source_urls", "content")


@pytest.fixture
def api():
    return api_of()


@pytest.fixture
def limited(api):
    return api_of(api.vault, projects=["alpha"], scopes=[Scope.READ, Scope.WRITE, Scope.REVIEW])


def told(answer):
    return {name: value for name, value in answer.items() if name not in OWN}


@pytest.mark.parametrize("project", ["", "alpha"])
def test_a_guess_at_a_hidden_value_is_answered_alike_whether_right_or_wrong(api, limited, project):
    api.remember("The X safe code is 4711", author="user", project="beta")
    wrong = limited.remember("The X safe code is 4712", project=project)
    Memory.objects.filter(vault=api.vault, ref=wrong["ref"]).delete()
    right = limited.remember("The X safe code is 4711", project=project)
    assert told(wrong) == told(right)
    assert (wrong["status"], wrong["flags"], wrong["conflicted"]) == ("approved", [], False)


@pytest.mark.parametrize("write", ["bulk", "capture", "supersede"])
def test_no_way_of_writing_compares_with_what_is_hidden(api, limited, write):
    api.remember("The X safe code is 4711", author="user", project="beta")
    text = "The X safe code is 4712"
    if write == "bulk":
        limited.post("memories/bulk", {"memories": [{"content": text}]})
    elif write == "capture":
        limited.post("captures", {"content": text})
    else:
        old = limited.remember("The safe has a code")["ref"]
        limited.post(f"memories/{old}/supersede", {"content": text})
    (found,) = limited.get("memories?q=4712").json()["results"]
    assert (found["status"], found["flags"], found["conflicted"]) == ("approved", [], False)


def test_a_hidden_claim_that_comes_later_puts_nothing_visibly_in_doubt(api, limited):
    guess = limited.remember("The X safe code is 4712")
    api.remember("The X safe code is 4711", author="user", project="beta")
    assert api.get(f"memories/{guess['ref']}").json()["conflicted"]
    assert not limited.get(f"memories/{guess['ref']}").json()["conflicted"]
    assert not any(row["conflicted"] for row in limited.get("memories").json()["results"])
    body = pack(limited, "What is the X safe code?")
    items = (
        [item for group in body["layers"].values() for item in group] if "layers" in body else body["items"]
    )
    assert [item["conflicted"] for item in items] == [False]


def test_what_a_model_reads_in_a_shared_capture_is_not_compared_with_what_is_hidden(api, limited):
    api.remember("The X safe code is 4711", author="user", project="beta")
    ref = limited.post("captures", {"content": "Somebody said something about a safe."}).json()["capture"][
        "ref"
    ]
    Capture.objects.filter(vault=api.vault, ref=ref).update(awaits_extraction=True)
    kept = Capture.objects.get(vault=api.vault, ref=ref)
    draft = {"content": "The X safe code is 4712", "kind": "claim", "quote": "a safe"}
    infer(api.vault, kept, [draft], now=timezone.now())
    (found,) = limited.get("memories?q=4712").json()["results"]
    assert (found["flags"], found["conflicted"]) == ([], False)


def test_hidden_claims_do_not_crowd_out_what_is_in_sight(api, limited):
    seen = api.remember("The X safe code is 4711", author="user", project="alpha")["ref"]
    crowd = [{"content": f"The X safe code is {n}", "project": f"beta-{n}"} for n in range(CANDIDATES + 5)]
    assert api.post("memories/bulk", {"memories": crowd}).status_code == 200
    wrong = limited.remember("The X safe code is 4712", project="alpha")
    assert (wrong["status"], wrong["flags"]) == ("pending", ["contradicts_user"])
    (conflict,) = limited.get(f"memories/{wrong['ref']}").json()["conflicts"]
    assert conflict["with"] == seen


def test_a_refusal_does_not_name_a_hidden_successor(api, limited):
    old = api.remember("The safe is green", project="alpha")["ref"]
    new = api.post(f"memories/{old}/supersede", {"content": "The safe is red"}).json()["ref"]
    Memory.objects.filter(vault=api.vault, ref=new).update(project="beta")
    answer = limited.post(f"memories/{old}/supersede", {"content": "The safe is blue"})
    assert answer.status_code == 409
    assert new not in answer.content.decode()
    assert new in api.post(f"memories/{old}/supersede", {"content": "The safe is blue"}).content.decode()
