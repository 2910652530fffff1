"""Random identifiers: opaque refs for the wire, 63-bit keys for rows. No sequences, so that vaults can be spread."""

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letter is mistaken for a digit
REF_LENGTH = 12
_MEMORY_PREFIX: Final = "mem_"
VAULT_ID_LENGTH = 10

_UNGUESSABLE: Final = secrets.SystemRandom()

_dice: Final[ContextVar[random.Random]] = ContextVar("dice", default=_UNGUESSABLE)


@contextmanager
def repeatable_ids(seed: str) -> Iterator[None]:
    """Make the same ids in the same order within the block, for a run that must come out the same: ids break ties.

    Only for databases that are thrown away; elsewhere ids must not repeat.
    """
    before = _dice.set(random.Random(seed))
    try:
        yield
    finally:
        _dice.reset(before)


def random_key() -> int:
    """Return a positive random 63-bit integer, a row's primary key."""
    return _dice.get().getrandbits(62) + 1


def random_revision() -> int:
    """Return 40 random bits: a vault's may be added up for millions of rows. It is no id, so nothing repeats it."""
    return secrets.randbits(40)


def random_word(length: int) -> str:
    return "".join(_ALPHABET[byte % 32] for byte in _dice.get().randbytes(length))


def new_ref(prefix: str) -> str:
    """Return a fresh ref such as `cap_…`: the prefix and 12 characters (60 bits)."""
    return f"{prefix}_{random_word(REF_LENGTH)}"


def ref_from(prefix: str, digest: bytes) -> str:
    """Return the ref that a digest stands for, always the same: for rows that come from elsewhere again and again."""
    return f"{prefix}_{''.join(_ALPHABET[byte % 32] for byte in digest[:REF_LENGTH])}"


def new_vault_id() -> str:
    return random_word(VAULT_ID_LENGTH)


def new_memory_ref() -> str:
    """Return a fresh ref of a memory: 12 digits (40 bits), so whoever stores it draws again where it is taken.

    Every line of a pack carries one, and models read digits cheapest: three to a token, where mixed letters and
    digits cost almost a token each. Refs are names, not secrets: nobody is let in for knowing one.
    """
    return memory_ref_of(_dice.get().randrange(10**REF_LENGTH))


def memory_ref_of(digits: int) -> str:
    return f"{_MEMORY_PREFIX}{digits:0{REF_LENGTH}}"


def digits_of(ref: str) -> int | None:
    """Return the number in a memory's ref, or None where it has another form."""
    digits = ref.removeprefix(_MEMORY_PREFIX)
    plain = len(digits) == REF_LENGTH and digits.isascii() and digits.isdecimal()
    return int(digits) if plain and ref != digits else None


def new_capture_ref() -> str:
    return new_ref("cap")


def new_entity_ref() -> str:
    return new_ref("ent")


def new_conflict_ref() -> str:
    return new_ref("con")


def new_decision_ref() -> str:
    return new_ref("dec")
