import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.search.embedding import HashEmbedder, active_embedder

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


@pytest.mark.parametrize(("choice", "name"), [("auto", "hash-1"), ("hash", "hash-1"), ("none", None)])
def test_the_setting_chooses_the_embedder(settings, choice, name):
    settings.CORTEX_EMBEDDER = choice
    embedder = active_embedder()
    assert (embedder.name if embedder else None) == name
