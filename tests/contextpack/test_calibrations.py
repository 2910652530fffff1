"""Relevance is judged by figures that were fitted on vectors of the very model that is in use."""

import pytest

from contextpack.core.matching import calibration_of, trust_in
from contextpack.core.weights import CALIBRATIONS, WORDS_ALONE
from memories.search.embedding import active_embedder, lack_of


@pytest.mark.parametrize("name", ["hash", "static", "minilm"])
def test_each_embedder_of_the_bench_has_its_own_calibration(name, settings):
    if lack_of(name):
        pytest.skip(f"{name} is not installed")
    settings.CORTEX_EMBEDDER = name
    embedder = active_embedder()
    assert embedder is not None
    assert calibration_of(embedder.name) in CALIBRATIONS.values()


def test_an_unknown_model_and_none_are_judged_by_words():
    assert calibration_of("") is calibration_of("somebody-else-3") is WORDS_ALONE
    assert trust_in("somebody-else-3") == 1.0
    assert trust_in("hash-1") < 1.0
