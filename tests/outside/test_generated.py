"""Types generated from our OpenAPI document: in TypeScript a client type-checks, in Python real answers parse.

`make generated` installs what these need; elsewhere each says so and skips.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from urllib.request import urlopen

import pytest

from contextpack.demo.server import SOURCE_DIR, Server, throwaway_server
from cortex_client import Cortex

HERE = Path(__file__).parent
MODULES = Path(os.environ.get("CORTEX_NODE_MODULES", SOURCE_DIR / "var" / "outside" / "node_modules"))
CODEGEN = Path(sys.executable).with_name("datamodel-codegen")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with throwaway_server() as running:
        yield running


@pytest.fixture
def document(server: Server, tmp_path: Path) -> Path:
    with urlopen(f"{server.url}/v1/schema", timeout=30) as answer:
        path = tmp_path / "openapi.json"
        path.write_bytes(answer.read())
        return path


def node(tool: str, *arguments: str, folder: Path) -> None:
    ended = subprocess.run(
        ["node", str(MODULES / ".bin" / tool), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.skipif(
    shutil.which("node") is None or not (MODULES / ".bin" / "openapi-typescript").exists(),
    reason="node or openapi-typescript is not here: make generated installs and runs this",
)
def test_a_client_in_typescript_is_checked_by_the_generated_types(document, tmp_path):
    output = str(tmp_path / "api.ts")
    node("openapi-typescript", str(document), "-o", output, "--default-non-nullable=false", folder=tmp_path)
    shutil.copy(HERE / "sample.ts", tmp_path)
    options = (
        "--strict",
        "--noEmit",
        "--target",
        "es2022",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
    )
    node("tsc", *options, "--lib", "es2022,dom", "--skipLibCheck", "sample.ts", folder=tmp_path)


@pytest.fixture
def models(document: Path, tmp_path: Path) -> ModuleType:
    """Return the module that the generator makes of the document."""
    path = tmp_path / "models.py"
    ended = subprocess.run(
        [
            str(CODEGEN),
            *("--input", str(document), "--input-file-type", "openapi", "--output", str(path)),
            *("--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11"),
            *("--formatters", "builtin"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    spec = importlib.util.spec_from_file_location("generated_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(
    not CODEGEN.exists(), reason="datamodel-code-generator is not here: make generated installs and runs this"
)
def test_real_answers_parse_as_the_generated_models(models, server):
    with Cortex(server.url, server.token) as cortex:
        memory = cortex.remember("The Atlas launch is on 12 May.", kind="decision", author="user")
        answers = {
            "MemoryAnswer": memory,
            "MemoryPage": cortex.memories(),
            "MemoryWhole": cortex.memory(memory["ref"]),
            "QueryAnswer": cortex.query(find="Atlas"),
            "Expansion": cortex.expand(memory["ref"]),
            "CaptureAnswer": cortex.capture("We decided to announce it by mail."),
            "Pack": cortex.context("Prepare the Atlas launch", format="smp", session_id="s"),
            "SessionDetail": cortex.session("s"),
            "Forgotten": cortex.forget(memory["ref"]),
        }
    for name, answer in answers.items():
        parsed = getattr(models, name).model_validate(answer)
        told = json.loads(parsed.model_dump_json(exclude_unset=True))
        assert told.keys() == answer.keys(), name
    assert models.QueryAnswer.model_validate(answers["QueryAnswer"]).items[0].ref == memory["ref"]
