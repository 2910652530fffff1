"""Whom an actor is: a token by its name, a person by theirs."""

from collections.abc import Iterable
from typing import Final

from memories.models import AccessToken

_TOKEN: Final = "token:"
_PERSON: Final = "user:"
_LARGEST: Final = 2**63 - 1


def names_of(vault_id: str, actors: Iterable[str]) -> dict[str, str]:
    """Return actor → what a person calls it; one statement."""
    told = set(actors)
    keys = {actor: actor.removeprefix(_TOKEN) for actor in told if actor.startswith(_TOKEN)}
    numbers = [int(key) for key in keys.values() if key.isdecimal() and int(key) <= _LARGEST]
    rows = AccessToken.objects.filter(vault_id=vault_id, pk__in=numbers).values_list("pk", "name")
    names = {f"{_TOKEN}{pk}": name for pk, name in rows}
    return {actor: names.get(actor, actor.removeprefix(_PERSON)) for actor in told}
