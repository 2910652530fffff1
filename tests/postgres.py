"""Is there a PostgreSQL to test against? `python -m tests.postgres` exits 0 if one answers; `--url` prints which."""

import os
import sys
from collections.abc import Iterator

import psycopg

TIMEOUT_SECONDS = 2
USUAL = (
    "postgres://root@127.0.0.1:5432/postgres",
    "postgres://postgres@127.0.0.1:5432/postgres",
)


def candidates() -> Iterator[str]:
    """Yield the one that CORTEX_TEST_POSTGRES_URL names, or else the usual ones."""
    named = os.environ.get("CORTEX_TEST_POSTGRES_URL", "").strip()
    yield from [named] if named else USUAL


def answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=TIMEOUT_SECONDS) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.Error:
        return False


def main(arguments: list[str]) -> int:
    found = next((url for url in candidates() if answers(url)), None)
    if found is None:
        return 1
    if "--url" in arguments:
        sys.stdout.write(f"{found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
