"""A text that was corrected does not come back as current: it contradicts what stands in its place."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.core.imports.drafts import Fact
from memories.models import Memory, Scope, Supersession
from memories.transfer.adopting import adopt
from memories.writing import MemoryInput, remember_many
from memories.writing.contradicting import superseded_texts
from tests.clients import api_of
from tests.factories import make_caller

pytestmark = pytest.mark.django_db

# Nothing in these words alone tells that they exclude each other.
OLD, NEW = "The mascot was drawn with much care", "A parrot it is, by popular demand"


@pytest.fixture
def api():
    return api_of()


def corrected(api, *, author="user", old=OLD, new=NEW, **fields):
    """Write a claim and its correction; return the ref of the correction."""
    first = api.remember(old, author=author, **fields)["ref"]
    answer = api.post(f"memories/{first}/supersede", {"content": new, "author": author})
    assert answer.status_code == 201, answer.content
    return answer.json()["ref"]


def conflicts_of(api, ref):
    return [(one["with"], one["reason"]) for one in api.get(f"memories/{ref}").json()["conflicts"]]


@pytest.mark.parametrize("author", ["agent", "inferred"])
def test_an_agent_that_repeats_what_the_user_corrected_waits(api, author):
    head = corrected(api)
    again = api.remember(OLD.upper(), author=author)
    assert (again["status"], again["flags"]) == ("pending", ["contradicts_user"])
    assert conflicts_of(api, again["ref"]) == [(head, "corrected")]
    assert not api.get(f"memories/{head}").json()["conflicted"]


def test_so_does_a_capture_that_holds_it(api):
    corrected(api, old="Deploy day is Tuesday", new="Deploy day is Friday")
    made = api.post("captures", {"content": "Deploy day is Tuesday"}).json()["memories"]
    assert [(one["status"], one["flags"]) for one in made] == [("pending", ["contradicts_user"])]


def test_so_does_an_event_though_events_are_not_compared(api):
    corrected(api, kind="event")
    assert api.remember(OLD, kind="event")["status"] == "pending"


def test_so_does_an_export_of_another_product_that_says_it_as_of_now(api):
    corrected(api)
    fact = Fact(external_id="1", content=OLD)
    done = adopt(make_caller(api.vault), [fact], product="other", now=timezone.now())
    assert done.waiting == 1


def test_an_import_of_an_export_brings_back_what_it_was(api):
    corrected(api)
    other = api_of()
    assert other.call("POST", "import", raw=b"".join(api.get("export").streaming_content)).status_code == 200
    assert other.get("conflicts").json()["results"] == []
    assert {one["status"] for one in other.get("memories").json()["results"]} == {"approved"}


def test_the_user_may_say_it_again_and_both_are_in_doubt(api):
    head = corrected(api)
    again = api.remember(OLD, author="user")
    assert (again["status"], again["flags"], again["conflicted"]) == ("approved", [], True)
    assert conflicts_of(api, head) == [(again["ref"], "corrected")]


def test_among_agents_it_is_a_conflict_and_nobody_waits(api):
    head = corrected(api, author="agent")
    again = api.remember(OLD)
    assert (again["status"], again["conflicted"]) == ("approved", True)
    assert conflicts_of(api, again["ref"]) == [(head, "corrected")]


def test_a_correction_that_the_user_approved_counts_as_the_users(api):
    first = api.remember(OLD, author="user")["ref"]
    head = api.post(f"memories/{first}/supersede", {"content": NEW}).json()["ref"]
    assert api.post(f"memories/{head}/approve").status_code == 200
    assert api.remember(OLD)["status"] == "pending"


def test_a_correction_that_a_person_made_of_agents_words_counts_as_the_users(api):
    corrected(api, author="agent")
    Supersession.objects.filter(vault=api.vault).update(actor="user:ana")
    assert api.remember(OLD)["status"] == "pending"


def test_the_head_of_a_long_chain_is_what_it_contradicts(api):
    second = corrected(api)
    third = api.post(f"memories/{second}/supersede", {"content": "An owl", "author": "user"}).json()["ref"]
    for text in (OLD, NEW):
        assert conflicts_of(api, api.remember(text)["ref"]) == [(third, "corrected")]


def test_a_correction_is_taken_back_by_superseding_it(api):
    head = corrected(api)
    answer = api.post(f"memories/{head}/supersede", {"content": OLD, "author": "user"})
    assert answer.status_code == 201
    assert (answer.json()["status"], answer.json()["conflicted"]) == ("approved", False)
    assert api.get("conflicts").json()["results"] == []
    assert api.remember(NEW)["status"] == "pending"


@pytest.mark.parametrize("end", ["archive", "redact"])
def test_a_correction_that_is_not_current_holds_nothing_up(api, end):
    head = corrected(api)
    api.post(f"memories/{head}/{end}")
    again = api.remember(OLD)
    assert (again["status"], again["conflicted"]) == ("approved", False)


def test_another_project_may_hold_what_this_one_corrected(api):
    corrected(api, project="red")
    assert api.remember(OLD, project="blue")["status"] == "approved"
    assert api.remember(OLD)["status"] == "approved"


def test_what_was_true_until_the_correction_is_no_conflict(api):
    corrected(api)
    again = api.remember(OLD, valid_from="2020-01-01", valid_to="2021-01-01")
    assert (again["status"], again["conflicted"]) == ("approved", False)


def test_a_correction_out_of_sight_is_not_told(api):
    head = corrected(api, project="alpha")
    Memory.objects.filter(vault=api.vault, ref=head).update(project="beta")
    limited = api_of(api.vault, projects=["alpha"], scopes=[Scope.READ, Scope.WRITE])
    assert limited.remember(OLD, project="alpha")["status"] == "approved"


def test_a_batch_costs_as_many_statements_for_many_that_come_back_as_for_few(api):
    caller = make_caller(api.vault)
    for number in range(12):
        corrected(api, old=f"Draft number {number} of the text", new=f"Version {number}, which is final")

    def cost(numbers):
        drafts = [MemoryInput(content=f"Draft number {number} of the text") for number in numbers]
        with CaptureQueriesContext(connection) as captured:
            remember_many(caller, drafts, now=timezone.now())
        waiting = Memory.objects.filter(vault=api.vault, status="pending").count()
        return len(captured), waiting

    (few, _), (many, waiting) = cost(range(2)), cost(range(2, 12))
    assert waiting == 12
    assert many <= few


@pytest.mark.skipif(
    connection.vendor != "sqlite", reason="PostgreSQL reads a small table whole, index or not"
)
@pytest.mark.parametrize("projects", [None, ["alpha"]])
def test_what_was_corrected_is_found_by_an_index(api, projects):
    asked = superseded_texts(make_caller(api.vault, projects=projects), ["a", "b"])
    assert "USING INDEX memory_corrected (vault_id=? AND content_hash=?)" in asked.explain()
