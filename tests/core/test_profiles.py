import pytest

from contextpack.core.profiles import PROFILES, clamp_budget, resolve_profile


@pytest.mark.parametrize(
    ("name", "budget", "chars_per_token", "weights", "knapsack"),
    [
        ("generic", 6_000, 4.0, (0.60, 0.25, 0.15), False),
        ("claude", 12_000, 3.8, (0.58, 0.27, 0.15), True),
        ("gpt", 8_000, 4.0, (0.55, 0.25, 0.20), True),
        ("cursor", 3_000, 3.6, (0.72, 0.14, 0.14), True),
    ],
)
def test_a_profile_has_the_calibration_of_the_protocol(name, budget, chars_per_token, weights, knapsack):
    profile = PROFILES[name]
    assert profile.name == name
    assert profile.pack_token_budget == budget
    assert profile.chars_per_token == chars_per_token
    assert profile.weights == weights
    assert profile.knapsack is knapsack


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-3-5-sonnet", "claude"),
        ("anthropic", "claude"),
        ("Claude Desktop", "claude"),
        ("opus", "claude"),
        ("anthropic/claude_opus_4", "claude"),
        ("gpt-4o", "gpt"),
        ("gpt4o-mini", "gpt"),
        ("chatgpt", "gpt"),
        ("o1-mini", "gpt"),
        ("openai:o3", "gpt"),
        ("cursor", "cursor"),
        ("cursor-agent", "cursor"),
        ("GitHub Copilot", "cursor"),
        ("windsurf", "cursor"),
        ("cline", "cursor"),
        ("zed", "cursor"),
    ],
)
def test_it_resolves_whole_words_of_model_and_surface(model, name):
    assert resolve_profile(model).name == name


@pytest.mark.parametrize(
    "model",
    [
        None,
        "",
        "   ",
        "generic",
        "customized",
        "command-r-plus",
        "decline",
        "inclined",
        "octopus",
        "foo1",
        "o10",
        "proto1",
        "llama-3",
        "claudette",
        "précursor",
        "cursors",
    ],
)
def test_it_never_finds_an_alias_inside_another_word(model):
    assert resolve_profile(model).name == "generic"


@pytest.mark.parametrize("model", ["claude cursor", "cursor claude", "gpt-4o copilot", "zed (sonnet)"])
def test_a_tight_surface_wins_over_the_model_that_runs_in_it(model):
    assert resolve_profile(model).name == "cursor"


def test_of_two_models_the_smaller_pack_wins():
    assert resolve_profile("claude or gpt").name == "gpt"


@pytest.mark.parametrize(
    ("asked", "name", "given"),
    [
        (None, "claude", 12_000),
        (None, "generic", 6_000),
        (0, "claude", 300),
        (-1, "gpt", 300),
        (300, "cursor", 300),
        (1_234, "cursor", 1_234),
        (10**9, "cursor", 3_000),
        (11_000, "gpt", 8_000),
    ],
)
def test_a_budget_is_clamped_to_the_range_of_its_profile(asked, name, given):
    assert clamp_budget(asked, PROFILES[name]) == given
