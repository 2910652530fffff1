"""A cheap look at a text decides whether a sign is looked for: it must never spare a text that has one."""

import pytest

from memories.core import hostility, secrets
from memories.core.text import normalise, word_set
from tests.core import test_hostility


def texts_of(module):
    """Every text in the tables of a test module."""
    found, waiting = set(), [value for name, value in vars(module).items() if name.isupper()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            waiting += value
    return sorted(found)


@pytest.mark.parametrize("sign", hostility._HINTS)
def test_what_a_sign_finds_has_a_hint_in_itself(sign):
    plain = ["\n".join(map(normalise, text.splitlines())) for text in texts_of(test_hostility)]
    found = {match.group() for text in plain for match in hostility._COMPILED[sign].finditer(text)}
    assert found
    assert [text for text in sorted(found) if not hostility._may_have(sign, text)] == []


KEYS = word_set(
    "password passwd passcode passphrase passwort kennwort contraseña senha пароль 密码 密碼 口令 パスワード 비밀번호 pwd "
    "api_key SECRET-TOKEN client-secret secret ToKeN credential credentials"
)


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_key_that_is_given_a_value_is_a_hint(key):
    assert secrets.mask_secrets(f"{key}: x9Kq2Lm8Zt4Wv7")[1] == 1
