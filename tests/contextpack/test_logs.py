"""What the log tells of an error: where and of which kind, and nothing of the data at hand."""

import json
import logging

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection

from cortex.api.logs import JsonFormatter
from memories.models import Vault

SECRET = "The cellar key is under the oak"


class DriverError(Exception):
    """As PostgreSQL's driver raises it."""

    sqlstate = "23514"


def logged(error: BaseException) -> str:
    """Raise an error, log it, and return the traceback of the line."""
    with pytest.raises(type(error)):
        raise error
    told = (type(error), error, error.__traceback__)
    record = logging.LogRecord("cortex", logging.ERROR, "x.py", 1, "it broke", None, told)
    return str(json.loads(JsonFormatter().format(record))["traceback"])


def refused_row() -> IntegrityError:
    detail = f"violates check constraint\nDETAIL:  Failing row contains (1, {SECRET}, mem_1)."
    error = IntegrityError(detail)
    error.__cause__ = DriverError(detail)
    return error


@pytest.mark.parametrize(
    "error",
    [
        refused_row(),
        KeyError(SECRET),
        ValueError(f"invalid literal: {SECRET!r}"),
        RuntimeError(SECRET),
        UnicodeEncodeError("utf-8", SECRET, 0, 1, SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_that_quotes_data_is_told_without_it(error):
    told = logged(error)
    assert "cellar" not in told
    assert "Failing row" not in told
    assert type(error).__name__ in told
    assert "in logged" in told


def test_the_drivers_name_of_an_error_is_told_with_its_cause():
    told = logged(refused_row())
    assert "DriverError: 23514" in told
    assert told.index("DriverError") < told.index("django.db.utils.IntegrityError")


@pytest.mark.parametrize("error", [TypeError("no len()"), ImproperlyConfigured("no key"), OSError("no disk")])
def test_what_is_said_of_code_is_told(error):
    assert str(error) in logged(error)


def test_an_error_that_is_its_own_cause_ends():
    error = ValueError("x")
    error.__context__ = error
    assert logged(error).count("ValueError") == 1


@pytest.mark.django_db
def test_a_real_refusal_of_the_database_names_itself_and_no_row():
    Vault.objects.create(slug="ana", name=SECRET)
    with pytest.raises(IntegrityError) as told, connection.cursor() as cursor:
        cursor.execute("INSERT INTO memories_vault SELECT * FROM memories_vault")
    text = logged(told.value)
    assert "IntegrityError" in text
    assert SECRET not in text


def test_statements_are_never_logged():
    assert not logging.getLogger("django.db.backends").isEnabledFor(logging.DEBUG)
