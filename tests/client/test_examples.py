"""The example runs as its docstring says."""

import os
import re
import subprocess
import sys

from contextpack.demo.server import SOURCE_DIR

CLIENT = SOURCE_DIR / "client"


def test_forty_turns_are_held_and_most_of_the_bytes_saved(server):
    ran = subprocess.run(
        [sys.executable, CLIENT / "examples" / "forty_turns.py", "--url", server.url],
        env={**os.environ, "PYTHONPATH": str(CLIENT), "CORTEX_TOKEN": server.token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    turns = re.findall(r"^ *(\d+) +\d+ +\d+ +[\d,]+ +[\d,]+$", ran.stdout, re.MULTILINE)
    assert turns == [str(number) for number in range(1, 41)]
    (saved,) = re.findall(r": (\d+)% saved", ran.stdout)
    assert int(saved) >= 70
