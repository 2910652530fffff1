"""The four profiles, and which of them a free-text model name means (CMP §3)."""

import re
from collections.abc import Mapping
from typing import Final

from contextpack.core.types import ModelProfile

CONTEXT_MIN_TOKEN_BUDGET: Final = 300
CONTEXT_MAX_TOKEN_BUDGET: Final = 6_000

GENERIC: Final = ModelProfile(
    name="generic",
    context_window=128_000,
    pack_token_budget=CONTEXT_MAX_TOKEN_BUDGET,
    chars_per_token=4.0,
    weights=(0.60, 0.25, 0.15),
    knapsack=False,
)
CLAUDE: Final = ModelProfile(
    name="claude",
    context_window=200_000,
    pack_token_budget=12_000,
    chars_per_token=3.8,
    weights=(0.58, 0.27, 0.15),
    knapsack=True,
)
GPT: Final = ModelProfile(
    name="gpt",
    context_window=128_000,
    pack_token_budget=8_000,
    chars_per_token=4.0,
    weights=(0.55, 0.25, 0.20),
    knapsack=True,
)
CURSOR: Final = ModelProfile(
    name="cursor",
    context_window=32_000,
    pack_token_budget=3_000,
    chars_per_token=3.6,
    weights=(0.72, 0.14, 0.14),
    knapsack=True,
)
PROFILES: Final[Mapping[str, ModelProfile]] = {
    profile.name: profile for profile in (GENERIC, CLAUDE, GPT, CURSOR)
}

_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": ("claude", "anthropic", "sonnet", "opus", "haiku"),
    "gpt": ("gpt", "gpt4", "gpt4o", "chatgpt", "openai", "o1", "o3", "o4"),
    "cursor": ("cursor", "copilot", "windsurf", "cline", "zed"),
    "generic": ("generic",),
}


def _tightest_first() -> tuple[tuple[re.Pattern[str], ModelProfile], ...]:
    """Pair each profile with the pattern of its aliases, letters and digits on neither side of them."""
    profiles = sorted(PROFILES.values(), key=lambda profile: (profile is GENERIC, profile.pack_token_budget))
    return tuple(
        (re.compile(rf"(?<![^\W_])(?:{'|'.join(_ALIASES[profile.name])})(?![^\W_])"), profile)
        for profile in profiles
    )


_PATTERNS: Final = _tightest_first()


def resolve_profile(model: str | None) -> ModelProfile:
    """Return the profile that a free-text "<model> <surface>" means.

    Args:
        model: matched on whole words, case aside: `claude-3-5-sonnet` and `cursor-agent` are known,
            `customized` holds no `zed`.
    Returns: of several that match the one with the smallest pack ("claude cursor" is an editor pane, whatever
        runs in it); `generic` where nothing does.
    Source: CMP §3.
    """
    name = (model or "").casefold()
    return next((profile for pattern, profile in _PATTERNS if pattern.search(name)), GENERIC)


def clamp_budget(token_budget: int | None, profile: ModelProfile) -> int:
    """Return the budget that a request gets: what it asks for, within the profile's range (CMP §3)."""
    if token_budget is None:
        return profile.pack_token_budget
    return min(max(token_budget, CONTEXT_MIN_TOKEN_BUDGET), profile.pack_token_budget)
