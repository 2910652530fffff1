"""Random identifiers: opaque refs for the wire, 63-bit keys for rows. No sequences, so that vaults can be spread."""

import secrets

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letter is mistaken for a digit
REF_LENGTH = 12
VAULT_ID_LENGTH = 10


def random_key() -> int:
    """Return a positive random 63-bit integer, a row's primary key."""
    return secrets.randbits(62) + 1


def random_word(length: int) -> str:
    return "".join(_ALPHABET[byte % 32] for byte in secrets.token_bytes(length))


def new_ref(prefix: str) -> str:
    """Return a fresh ref such as `mem_…`: the prefix and 12 characters (60 bits)."""
    return f"{prefix}_{random_word(REF_LENGTH)}"


def new_vault_id() -> str:
    return random_word(VAULT_ID_LENGTH)


def new_memory_ref() -> str:
    return new_ref("mem")


def new_capture_ref() -> str:
    return new_ref("cap")


def new_entity_ref() -> str:
    return new_ref("ent")


def new_conflict_ref() -> str:
    return new_ref("con")
