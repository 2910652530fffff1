"""A person who may do everything, logged in, and the vault that the lists show."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memories.models import Vault
from tests.factories import make_vault


@pytest.fixture
def vault(db) -> Vault:
    return make_vault("default")


@pytest.fixture
def person(db) -> User:
    return User.objects.create_superuser("ana", password="correct horse battery")


@pytest.fixture
def page(person) -> Client:
    client = Client()
    client.force_login(person)
    return client
