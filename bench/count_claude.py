"""Count texts as the Claude tokenizers do. Needs Python 3.12 and `pip install ctok`, and nothing of this project.

    python3.12 bench/count_claude.py TEXTS.json > COUNTS.json

TEXTS.json maps names to texts; COUNTS.json maps the same names to two counts, without the frame of a message: of
Claude 3 to 4.6, and of Claude 4.7 and newer.
"""

import json
import sys
from pathlib import Path

import ctok  # type: ignore[import-not-found,unused-ignore]

FRAMES = {"3.0": 7, "4.8": 6}  # version → tokens that a message costs before its first word


def main() -> None:
    texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    counts = {
        name: [ctok.token_count(text, version) - frame for version, frame in FRAMES.items()]
        for name, text in texts.items()
    }
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(pair)}" for name, pair in counts.items())
    sys.stdout.write(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
