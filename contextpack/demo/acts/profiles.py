"""CMP §3: the same question, fitted to the model that will read the answer."""

from typing import Any, Final

from contextpack.demo.scene import Scene

MODELS: Final = ("claude", "gpt", "cursor", None)
# Free text → the profile that it means; the last two hold an alias inside another word, which is none.
NAMES: Final = {
    "claude-3-5-sonnet": "claude",
    "anthropic api": "claude",
    "gpt-4o": "gpt",
    "cursor-agent": "cursor",
    "copilot": "cursor",
    "customized": "generic",
    "command-r-plus": "generic",
}


def play(scene: Scene) -> None:
    report = scene.report
    report.heading("§3  One question, four readers")
    packs = {model: scene.ask(model=model).json() for model in MODELS}
    report.table(
        ("model", "budget", "used", "items"),
        [(model or "(none)", *_figures(pack)) for model, pack in packs.items()],
    )
    claude, gpt, cursor = (_figures(packs[model]) for model in ("claude", "gpt", "cursor"))
    report.check("the budgets are ordered claude ≥ gpt ≥ cursor", claude[0] >= gpt[0] >= cursor[0])
    report.check("so are the packs", claude[2] >= gpt[2] >= cursor[2], found=(claude[2], gpt[2], cursor[2]))
    report.check(
        f"cursor packs strictly fewer items than claude ({cursor[2]} < {claude[2]})", cursor[2] < claude[2]
    )
    report.check("a model that nobody named is read as generic", _profile(packs[None]) == "generic")
    report.check(
        "no pack costs more than its budget",
        all(used <= tokens for tokens, used, _ in map(_figures, packs.values())),
    )
    _names(scene)


def _names(scene: Scene) -> None:
    found = {name: _profile(scene.ask(model=name, token_budget=300, legend=False).json()) for name in NAMES}
    scene.report.check("a model's name is matched by whole words", found == NAMES, found=found)


def _figures(pack: dict[str, Any]) -> tuple[int, int, int]:
    return pack["budget"]["tokens"], pack["budget"]["used"], len(pack["items"])


def _profile(pack: dict[str, Any]) -> str:
    return str(pack["model"]["profile"])
