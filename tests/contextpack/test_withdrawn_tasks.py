"""Tasks that quoted a memory: the quote goes when the memory does."""

import pytest

from contextpack.models import Receipt
from contextpack.recording import WITHDRAWN_TASK
from memories.models import Memory
from memories.signals import content_withdrawn
from tests.clients import api_of
from tests.wire.asking import ask

pytestmark = pytest.mark.django_db

SECRET = "The cellar key is under the old oak."


@pytest.fixture
def api():
    return api_of()


def tasks_after(api, *tasks: str, text: str = SECRET, erase: bool = True) -> list[str]:
    """Ask these tasks, withdraw a text, and return what the receipts say of the tasks then."""
    for task in tasks:
        assert ask(api, task).status_code == 200
    before = list(
        Receipt.objects.filter(vault=api.vault).order_by("assembled_at").values_list("pk", flat=True)
    )
    content_withdrawn.send(
        sender=Memory, vault_id=api.vault.pk, refs=frozenset({"mem_x"}), erase=erase, texts=(text,)
    )
    told = dict(Receipt.objects.filter(vault=api.vault).values_list("pk", "task"))
    return [told[pk] for pk in before]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (f"Is this right? {SECRET}", SECRET),
        ("is it true that the CELLAR key\n  is under the old oak, or not", SECRET),
        ("The ｃｅｌｌａｒ key is under the old oak", SECRET),
        ("stimmt das: der Schlussel liegt im Cafe", "Der Schlüssel liegt im Café"),
        ("请问钥匙在橡树下面吗", "钥匙在橡树下面"),
    ],
)
def test_a_task_that_quotes_it_goes_whole(api, task, text):
    assert tasks_after(api, task, text=text) == [WITHDRAWN_TASK]


def test_other_tasks_stay(api):
    others = ["where is the cellar key", "the cellar key is under the old oaken door", "钥匙在哪里"]
    assert tasks_after(api, *others) == others


def test_a_short_text_takes_no_task_that_only_has_its_letters(api):
    assert tasks_after(api, "what did they say yesterday", text="yes") == ["what did they say yesterday"]


@pytest.mark.parametrize("text", ["", "...", " "])
def test_a_text_without_words_takes_no_task(api, text):
    assert tasks_after(api, "what now...", text=text) == ["what now..."]


def test_what_is_only_archived_takes_no_task(api):
    assert tasks_after(api, SECRET, erase=False) == [SECRET]


def test_another_vaults_tasks_stay(api):
    other = api_of()
    assert ask(other, SECRET).status_code == 200
    tasks_after(api, SECRET)
    assert Receipt.objects.get(vault=other.vault).task == SECRET


def test_a_listener_may_be_told_no_texts(api):
    assert ask(api, SECRET).status_code == 200
    content_withdrawn.send(sender=Memory, vault_id=api.vault.pk, refs=frozenset({"mem_x"}), erase=True)
    assert Receipt.objects.get(vault=api.vault).task == SECRET


@pytest.mark.parametrize("verb", ["forget", "redact"])
def test_neither_a_receipt_nor_its_page_tells_a_forgotten_text(api, verb):
    ref = api.remember(SECRET)["ref"]
    receipt = ask(api, f"Check this: {SECRET}").json()["receipt"]["id"]
    assert b"old oak" in api.get(f"receipts/{receipt}").content
    if verb == "forget":
        assert api.delete(f"memories/{ref}").json()["erased"]["tasks"] == 1
    else:
        assert api.post(f"memories/{ref}/redact").status_code == 200
    assert b"oak" not in api.get(f"receipts/{receipt}").content
