"""Hold a conversation of forty turns with a running server, and print what its session saved.

    python forty_turns.py --url http://127.0.0.1:8766 --token ctx_…

The memories are written into a project of their own, and forgotten at the end.
"""

import argparse
import os
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

from cortex_client import Conversation, Cortex

TURNS: Final = 40
# A house is being rebuilt: who does what in which room, in words that overlap as those of a conversation do.
ROOMS: Final = ("kitchen", "bathroom", "attic", "cellar", "hall", "studio")
NOTES: Final = (
    "{who} tiles the {room} floor with slate, and starts once the pipes of the {room} are tight.",
    "The {room} gets {n} sockets; {who} marked their places in pencil and wants them checked.",
    "Paint for the {room}: chalk white for the walls, and green for the door, as {who} decided.",
    "The window of the {room} was measured by {who}: {n} centimetres wide, and it sticks when it rains.",
    "{who} ordered the lamp for the {room}; it comes in week {n} and must not hang above the stove.",
    "In the {room} a beam is damp. {who} says that it must dry for {n} days before anybody closes the wall.",
    "The offer for the {room} is {n}00 euros, heating included; {who} has signed it.",
)
PEOPLE: Final = ("Mira", "Jonas", "Priya", "Tomas", "Lena", "Samir")
QUESTIONS: Final = (
    "What is still open in the {room}?",
    "Who works in the {room}, and what do they wait for?",
    "What did we decide about paint and lamps for the {room}?",
    "Is the {room} dry enough to close the wall?",
    "What does the {room} cost, and who signed the offer?",
    "Which measurements of the {room} do we have?",
    "Write to everybody who has a part in the {room}.",
)


def main() -> None:
    options = _options()
    project = f"forty-turns-{uuid.uuid4().hex[:8]}"
    with Cortex(options.url, options.token) as cortex:
        written = cortex.remember_all([{"content": note, "project": project} for note in notes()])
        try:
            converse(cortex, project, options.budget)
        finally:
            for result in written:
                cortex.forget(result["ref"])


def converse(cortex: Cortex, project: str, budget: int) -> None:
    """Ask forty questions twice, in a session and without one, and print what each way costs."""
    asked: dict[str, Any] = {"model": "claude", "token_budget": budget, "project": project}
    chat = Conversation(cortex, project, **asked)
    whole = 0
    print("turn   new  held   bytes sent   bytes of a whole pack")
    for number, question in enumerate(questions(TURNS), start=1):
        turn = chat.ask(question)
        alone = len(cortex.send_context(question, format="smp", legend=False, **asked).body)
        whole += alone
        held = len(turn.pack) - len(turn.new)
        print(f"{number:4}  {len(turn.new):4}  {held:4}  {turn.bytes:11,}  {alone:22,}")
    cortex.end_session(project)
    saved = chat.savings
    print(
        f"\n{saved.bytes_received:,} bytes were sent instead of {whole:,}: {1 - saved.bytes_received / whole:.0%} saved."
        f"\nOf the memories' own tokens {saved.tokens_saved:,} did not travel, {saved.tokens_sent:,} did."
    )


def notes() -> Iterator[str]:
    for number, room in enumerate(ROOMS):
        for turn, note in enumerate(NOTES):
            yield note.format(room=room, who=PEOPLE[(number + turn) % len(PEOPLE)], n=7 + 3 * number + turn)


def questions(count: int) -> Sequence[str]:
    """Stay with a room for a while, then go on to the next, as a conversation does."""
    every = [question.format(room=room) for room in ROOMS for question in QUESTIONS]
    return every[:count]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--url", default=os.environ.get("CORTEX_URL", "http://127.0.0.1:8766"), help="(default: $CORTEX_URL)"
    )
    parser.add_argument(
        "--token",
        default=os.environ.get("CORTEX_TOKEN", ""),
        help="may read and write (default: $CORTEX_TOKEN)",
    )
    parser.add_argument("--budget", type=int, default=3_000, help="tokens of each pack (default: 3,000)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
