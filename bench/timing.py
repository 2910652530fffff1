"""Calls in turn, and what their times say."""

import random
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from contextpack.demo.client import Reply

Call = Callable[[int], Reply]
SHUFFLE_SEED: Final = 7


@dataclass(slots=True, kw_only=True)
class Timings:
    """The times of one kind of call, in milliseconds, and the sizes of its answers."""

    milliseconds: list[float] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)

    def add(self, reply: Reply) -> None:
        self.milliseconds.append(reply.seconds * 1_000)
        self.bytes.append(len(reply.body))

    @property
    def p50(self) -> float:
        return statistics.median(self.milliseconds)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.milliseconds, n=20)[-1] if len(self.milliseconds) > 1 else self.p50

    def as_json(self) -> dict[str, float]:
        return {
            "calls": len(self.milliseconds),
            "p50_ms": round(self.p50, 3),
            "p95_ms": round(self.p95, 3),
            "bytes": round(statistics.mean(self.bytes)),
        }


def interleave(calls: Mapping[str, Call], *, rounds: int, warm_up: int) -> dict[str, Timings]:
    """Make every call once in each round, in an order that changes, so that a busy moment hits all alike.

    Args:
        calls: name → what makes the call of a given round.
        warm_up: rounds before the first that counts.
    """
    dice, names = random.Random(SHUFFLE_SEED), list(calls)
    timings = {name: Timings() for name in names}
    for number in range(warm_up + rounds):
        dice.shuffle(names)
        for name in names:
            reply = calls[name](number)
            if number >= warm_up:
                timings[name].add(reply)
    return timings
