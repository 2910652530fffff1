"""The figures of a vault, as a token limited to projects gets them."""

import pytest

from tests.clients import api_of
from tests.factories import make_memory, make_vault

pytestmark = pytest.mark.django_db


def test_a_narrow_token_learns_nothing_of_the_others_pending_vectors():
    vault = make_vault()
    for number in range(3):
        make_memory(vault, content=f"Theirs {number}", project="bo", index=False)
    make_memory(vault, content="Ours", project="ana", index=False)
    make_memory(vault, content="Ours too", project="ana")
    make_memory(vault, content="Shared", index=False)
    assert api_of(vault, projects=["ana"]).get("stats").json()["pending_vectors"] == 2
    assert api_of(vault).get("stats").json()["pending_vectors"] == 5
