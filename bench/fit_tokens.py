"""Fit the weights of `contextpack/core/tokens.py` to real tokenizers, and say how near the estimate comes.

    python -m bench.fit_tokens texts /usr/share/locale > texts.json
    python3.12 bench/count_claude.py texts.json > claude.json
    python -m bench.fit_tokens weights texts.json claude.json
    python -m bench.fit_tokens report texts.json claude.json

and, for `contextpack/core/frequent.py`:

    python -m bench.fit_tokens candidates > words.json
    python3.12 bench/count_claude.py words.json > claude.json
    python -m bench.fit_tokens words claude.json

The GPT families are counted by quicktok, the Claude families beforehand by ctok, which needs another Python.
"""

import argparse
import contextlib
import json
import re
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import django
import numpy as np
import quicktok
from numpy.typing import NDArray

from bench.token_texts import fitting_texts
from contextpack.core.tokens import WEIGHTS, TokenFamily, estimate_tokens, features

CATALOGS: Final = ("django.mo", "gtk20.mo")
ENCODINGS: Final = ("cl100k_base", "o200k_base")
# How much the texts of a group matter together, beside 1 for a language.
IMPORTANCE: Final = {
    "english": 14.0, "script": 4.0, "prose": 8.0, "notes": 8.0, "code": 4.0, "markdown packs": 8.0, "old markdown packs": 4.0, "json packs": 6.0,
    "random letters": 0.5, "machine": 0.1, "pack": 8.0,
}  # fmt: skip
MACHINE: Final = 2.5
UNDER: Final = 7.0  # how much worse it is to be under the real count than over it
PULL: Final = 2e-3  # towards the weights as they are; decides where the texts say nothing
LEAST: Final = 0.01
# What a letter costs at least, however much of a word's cost the fit puts on the word: words may be long.
LEAST_OF_A_LETTER: Final = {"capital": 0.35, "cyrillic": 0.25, "arabic": 0.3, "persian": 0.3}
# Too rare in the texts at hand to be fitted: what a byte-pair vocabulary must pay at most.
FIXED: Final = frozenset({"other", "symbol", "astral", "more_breaks", "ethiopic", "lao"})
MOST_WORDS: Final = 4_200
ROUNDS: Final = 15
SWEEPS: Final = 40

_WORD: Final = re.compile(r"^ ([a-z]{2,})$")
_Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Texts as rows."""

    groups: tuple[str, ...]
    texts: tuple[str, ...]
    counts: _Matrix  # texts × families

    @classmethod
    def read(cls, texts: Mapping[str, str], claude: Mapping[str, list[int]]) -> "Sample":
        encoders = [quicktok.get_encoding(name) for name in ENCODINGS]
        counts = [
            [*(len(encoder.encode(text)) for encoder in encoders), *claude[name]]
            for name, text in texts.items()
        ]
        groups = tuple(name.split("/")[0] for name in texts)
        return cls(groups=groups, texts=tuple(texts.values()), counts=np.array(counts, dtype=np.float64))

    def matrix(self) -> _Matrix:
        """Return texts × features."""
        rows: list[list[float]] = []
        for text in self.texts:
            found: dict[str, float] = defaultdict(float)
            for feature, times in features(text):
                found[feature] += times
            rows.append([found[feature] for feature in WEIGHTS])
        return np.array(rows, dtype=np.float64)

    def importance(self) -> _Matrix:
        sizes = Counter(self.groups)
        return np.array([_importance(group) / sizes[group] ** 0.5 for group in self.groups])


def _importance(group: str) -> float:
    return IMPORTANCE.get(group, 1.0 if group.startswith("language ") else MACHINE)


def fit(sample: Sample) -> dict[str, list[float]]:
    """Return the weights of each feature, family by family.

    Least squares of the relative error, in which being under counts for more; no weight falls under its least.
    """
    matrix, importance = sample.matrix(), sample.importance()
    columns = []
    for family in range(len(TokenFamily)):
        start = np.array([weights[family] for weights in WEIGHTS.values()])
        columns.append(_solve(matrix / sample.counts[:, [family]], importance, start))
    return {
        feature: [round(float(column[place]), 2) for column in columns]
        for place, feature in enumerate(WEIGHTS)
    }


def _solve(shares: _Matrix, importance: _Matrix, start: _Matrix) -> _Matrix:
    """Find weights for which each row of shares comes to 1: coordinate descent, reweighted by each error's side."""
    weights = start.copy()
    free = [place for place, feature in enumerate(WEIGHTS) if feature not in FIXED]
    least = [LEAST_OF_A_LETTER.get(feature, LEAST) for feature in WEIGHTS]
    for _ in range(ROUNDS):
        matter = importance * np.where(shares @ weights < 1, UNDER, 1.0)
        gram = (shares * matter[:, None]).T @ shares + PULL * np.eye(len(weights))
        aim = shares.T @ matter + PULL * start
        for _ in range(SWEEPS):
            for place in free:
                step = (aim[place] - gram[place] @ weights) / gram[place, place]
                weights[place] = max(least[place], weights[place] + step)
    return weights


def report(sample: Sample) -> str:
    """Return a table: for each group and family the mean ratio of estimate and count, and its range."""
    estimates = np.array(
        [[estimate_tokens(text, family) for family in TokenFamily] for text in sample.texts], dtype=np.float64
    )
    lines = [f"{'':20} " + " ".join(f"{family.value:>18}" for family in TokenFamily)]
    for group in dict.fromkeys(sample.groups):
        rows = [place for place, name in enumerate(sample.groups) if name == group]
        means = estimates[rows].sum(axis=0) / sample.counts[rows].sum(axis=0)
        ratios = estimates[rows] / sample.counts[rows]
        cells = zip(means, ratios.min(axis=0), ratios.max(axis=0), strict=True)
        lines.append(
            f"{group:20} " + " ".join(f"{mean:6.2f} ({low:.2f}-{high:.2f})" for mean, low, high in cells)
        )
    return "\n".join(lines)


def candidates() -> dict[str, str]:
    """Return the words that both GPT vocabularies hold whole, the most frequent first, each by its name."""
    cl100k, o200k = (_words_held(quicktok.get_encoding(name)) for name in ENCODINGS)
    also = set(cl100k)
    both = [word for word in o200k if word in also]
    return {word: word for word in both[:MOST_WORDS]}


def _words_held(encoder: Any) -> list[str]:
    """Return the lower-case words of a vocabulary in its order, which is that of their frequency."""
    found = []
    for token in range(encoder.n_vocab):
        with contextlib.suppress(KeyError):  # a gap in the numbering
            found += _WORD.findall(encoder.decode([token]))
    return found


def listed_words(claude: Mapping[str, list[int]]) -> dict[str, list[str]]:
    """Return the two lists of `contextpack/core/frequent.py`."""
    whole = sorted(word for word, counts in claude.items() if max(counts) == 1)
    spelt = (word for word, (older, newer) in claude.items() if newer <= 2 or older == 1)
    return {"WHOLE": whole, "FREQUENT": sorted(set(spelt) - set(whole))}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fit_tokens", description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("texts").add_argument("folders", nargs="*", type=Path, help="with translation catalogs")
    for verb in ("weights", "report"):
        known = verbs.add_parser(verb)
        known.add_argument("texts", type=Path)
        known.add_argument("claude", type=Path)
    verbs.add_parser("candidates")
    verbs.add_parser("words").add_argument("claude", type=Path)
    options = parser.parse_args()
    if options.verb in {"texts", "candidates"}:
        texts = candidates() if options.verb == "candidates" else fitting_texts(_catalogs(options.folders))
        json.dump(texts, sys.stdout, ensure_ascii=False)
        return
    if options.verb == "words":
        for name, words in listed_words(_read(options.claude)).items():
            print(f"{name}\n{textwrap.fill(' '.join(words), 114)}\n")
        return
    sample = Sample.read(_read(options.texts), _read(options.claude))
    print(report(sample) if options.verb == "report" else _as_source(fit(sample)))


def _catalogs(folders: list[Path]) -> list[Path]:
    roots = [Path(django.__file__).parent / "conf" / "locale", *folders]
    found = [path for root in roots for name in CATALOGS for path in root.glob(f"*/LC_MESSAGES/{name}")]
    return [path for path in found if not path.parent.parent.name.startswith("en")]


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _as_source(weights: Mapping[str, list[float]]) -> str:
    return "\n".join(
        f'"{name}": ({", ".join(f"{each:.2f}" for each in row)}),' for name, row in weights.items()
    )


if __name__ == "__main__":
    main()
