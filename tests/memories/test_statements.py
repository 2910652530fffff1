"""Every statement on a tenant's table names the vault: only then can the tables be spread over machines."""

import re

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.models import Conflict, Entity
from memories.models.tenancy import TenantModel
from memories.upkeep import sweep_vault
from tests.clients import api_of

pytestmark = pytest.mark.django_db

TENANT_TABLES = {model._meta.db_table for model in apps.get_models() if issubclass(model, TenantModel)}
TABLE = re.compile(r'(?:FROM|JOIN|INTO|UPDATE)\s+"?(\w+)"?', re.IGNORECASE)


def walk(api):
    """Use every route once, on every kind of row."""
    old = api.remember("We use A in Lisbon", author="user", tags=["x"], project="p")["ref"]
    api.remember(
        "We use A in Lisbon", project="p", source={"url": "https://a.example", "text": "We use A in Lisbon"}
    )
    new = api.post(f"memories/{old}/supersede", {"content": "We moved to B"}).json()["ref"]
    api.post(f"memories/{new}/approve")
    other = api.remember("We moved to C")["ref"]
    api.post(f"memories/{new}/supersede", {"replacement": other})
    first = api.remember("Rate limit is 60 per minute")["ref"]
    api.remember("Rate limit is 600 per minute")
    api.post(f"conflicts/{Conflict.objects.filter(vault=api.vault)[0].ref}/resolve", {"keep": first})
    api.post(
        "memories/bulk",
        {"memories": [{"content": f"Fact {n} of Ana"} for n in range(5)]},
        Idempotency_Key="k",
    )
    api.post("captures", {"content": "Ana likes tea. Bo likes coffee.", "url": "https://b.example"})
    api.patch(f"memories/{first}", {"entities": ["Cy"], "kind": "event", "project": "q"})
    api.get("memories?q=tea&tag=x&entity=Ana&active=true&project=p&thread=t")
    api.get("memories?active=false&limit=1")
    api.get(f"memories/{old}")
    api.get("conflicts")
    api.get("entities?q=Ana")
    api.get(f"entities/{Entity.objects.filter(vault=api.vault)[0].ref}")
    api.get("stats")
    lines = b"".join(api.get("export").streaming_content)
    api_of().call("POST", "import", raw=lines)
    api.call("POST", "import", raw=lines)
    api.post(f"memories/{first}/archive")
    api.post(f"memories/{first}/redact")
    api.delete(f"memories/{new}")
    api.delete(f"memories/{old}")


def test_every_statement_on_a_tenants_table_names_the_vault():
    api = api_of()
    with CaptureQueriesContext(
        connection,
    ) as captured:
        walk(api)
        narrow = api_of(api.vault, projects=["p", "q"])
        for path in (
            "memories",
            "entities",
            "conflicts",
            "stats",
            f"memories/{narrow.remember('Mine')['ref']}",
        ):
            assert narrow.get(path).status_code == 200
        sweep_vault(api.vault, now=timezone.now())
        call_command("reindex", vault=api.vault.slug, verbosity=0)
    statements = [query["sql"] for query in captured]
    touching = [sql for sql in statements if TENANT_TABLES.intersection(TABLE.findall(sql))]
    assert len(touching) > 300
    nameless = sorted({sql[:300] for sql in touching if "vault_id" not in sql})
    assert nameless == []
