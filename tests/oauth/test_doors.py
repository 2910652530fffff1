"""The map of a server with OAuth has the addresses that the tables of tests/wire/test_doors.py name, and no others."""

from tests.oauth.conftest import manage
from tests.wire.test_doors import BEHIND_A_LOGIN, BEHIND_A_TOKEN, OAUTH, OPEN, is_admins

TELL = "from tests.wire.routes import other_paths; print('PATHS', *(repr(path) for path in other_paths()))"


def test_no_address_is_missing_from_the_tables(server):
    told = next(
        line for line in manage(server, "shell", "-v0", "-c", TELL).splitlines() if line.startswith("PATHS")
    )
    paths = {path.strip("'") for path in told.split()[1:]}
    assert {path for path in paths if not is_admins(path)} == set(
        OPEN
    ) | BEHIND_A_TOKEN | BEHIND_A_LOGIN | OAUTH
