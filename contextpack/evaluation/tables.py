"""A run, and the difference between two, as text for a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from contextpack.evaluation.comparing import Comparison, Difference, Moved
from contextpack.evaluation.report import Report
from contextpack.evaluation.scoring import (
    Answered,
    Figures,
    Source,
    abstention,
    by_category,
    by_history,
    figures,
)

SHOWN_MOVES: Final = 5
_QUESTION_WIDTH: Final = 72
_FIRST: Final = 26
_COLUMN: Final = 15


def report_text(report: Report) -> str:
    """Say all of a run: evidence, size, time, abstention."""
    return "\n".join([_setup(report), "", *_evidence(report), "", *_cost(report), "", *_abstention(report)])


def _setup(report: Report) -> str:
    setup, written = report.setup, report.written
    parts = [
        f"{_counted(len(written), 'history', 'histories')}, {sum(each.turns for each in written):,} turns, {len(report.answered):,} questions",
        f"model {setup.model}",
        f"embedder {setup.embedder or 'none'}",
        *([f"weights {setup.weights}"] if setup.weights else []),
        *([f"asked at {setup.asked_at}"] if setup.asked_at else []),
    ]
    left_out, withheld = (
        sum(each.left_out for each in written),
        sum(each.withheld for each in written),
    )
    if left_out:
        parts.append(f"{left_out:,} questions left out, which cannot be scored")
    if withheld:
        parts.append(f"{withheld:,} turns withheld")
    return "; ".join(parts)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _evidence(report: Report) -> list[str]:
    lines = [
        _line("evidence served, %", "", (f"@{budget}" for budget in report.budgets)),
        _line("(all of it)", "n", ("recall (all)" for _ in report.budgets)),
    ]
    lines += _groups(by_category(report.answered), report.budgets)
    histories = by_history(report.answered)
    return (
        lines
        if len(histories) < 2 or _is_one_each(histories)
        else [*lines, "", *_groups(histories, report.budgets)]
    )


def _is_one_each(histories: Mapping[str, Sequence[Answered]]) -> bool:
    """Whether each history is there for one question, so that a line for each would only repeat them."""
    return all(len(group) == 1 for group in histories.values())


def _groups(groups: Mapping[str, Sequence[Answered]], budgets: Sequence[int]) -> list[str]:
    return [
        _line(name, str(len(group)), (_shares(figures(group, budget)) for budget in budgets))
        for name, group in groups.items()
        if group
    ]


def _shares(found: Figures) -> str:
    return f"{found.recall:.1%} ({found.complete:.0%})".replace("%", "")


def _cost(report: Report) -> list[str]:
    if not report.answered:
        return []
    every = [figures(report.answered, budget) for budget in report.budgets]
    rows: dict[str, Iterable[str]] = {
        "tokens sent": (f"{each.tokens:,.0f}" for each in every),
        "characters sent": (f"{each.characters:,.0f}" for each in every),
        "milliseconds, p50": (f"{each.p50_ms:.1f}" for each in every),
        "milliseconds, p95": (f"{each.p95_ms:.1f}" for each in every),
    }
    return [_line(name, "", cells) for name, cells in rows.items()]


def _abstention(report: Report) -> list[str]:
    lines = [_line("marked weak, %", "n", ("off topic", "n", "on topic", "AUC"))]
    for source, name in ((Source.OTHERS, "others' questions"), (Source.GIVEN, "questions beside it")):
        strays = [each for each in report.strays if each.source is source]
        asked = {each.history for each in strays}
        told = abstention([each for each in report.answered if each.history in asked], strays)
        if told.off_topic:
            cells = (
                _percent(told.off_topic_weak),
                str(told.on_topic),
                _percent(told.on_topic_weak),
                "" if told.auc is None else f"{told.auc:.3f}",
            )
            lines.append(_line(name, str(told.off_topic), cells))
    if len(lines) > 1:
        return lines
    alone = abstention(report.answered, ())
    return [f"marked weak: {_percent(alone.on_topic_weak)} % of the questions (nothing off topic was asked)"]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _line(name: str, count: str, cells: Iterable[str]) -> str:
    return (f"{name:{_FIRST}}{count:>6}" + "".join(f"{cell:>{_COLUMN}}" for cell in cells)).rstrip()


# -- Two runs ------------------------------------------------------------------------------------


def comparison_text(comparison: Comparison, earlier: Report, later: Report) -> str:
    """Say what the later run does better and worse."""
    if not comparison.pairs or not comparison.budgets:
        return "Nothing to compare: the two runs share no question at the same budget."
    lines = [_pairing(comparison, earlier, later)]
    for budget in comparison.budgets:
        lines += ["", _line(f"recall @{budget}", "n", ("change", "95 % interval", "better", "worse"))]
        lines += [_change(name, each) for name, each in comparison.differences(budget).items()]
    return "\n".join([*lines, *_moves(comparison), "", *_weak_before_and_after(comparison)])


def _pairing(comparison: Comparison, earlier: Report, later: Report) -> str:
    changed = [
        f"{name} {_said(earlier, name)} → {_said(later, name)}"
        for name in ("model", "embedder", "weights", "asked_at", "seed")
        if getattr(earlier.setup, name) != getattr(later.setup, name)
    ]
    alone = [f"{comparison.unpaired:,} in one run only"] if comparison.unpaired else []
    return "; ".join([f"{len(comparison.pairs):,} questions asked in both", *alone, *changed])


def _said(report: Report, name: str) -> str:
    value = getattr(report.setup, name)
    return "none" if value is None else str(value)


def _change(name: str, found: Difference) -> str:
    moved = found.better + found.worse > 0
    mark = " (chance)" if moved and not found.is_told else ""
    interval = f"{100 * found.low:+.1f} {100 * found.high:+.1f}"
    cells = (f"{100 * found.mean:+.1f}", interval, str(found.better), str(found.worse))
    return _line(name, str(found.questions), cells) + mark


def _moves(comparison: Comparison) -> list[str]:
    """Name the questions that moved most, at the second budget, where most packs are neither tiny nor whole."""
    budget = comparison.budgets[min(1, len(comparison.budgets) - 1)]
    moved = comparison.moved(budget)
    lost = [each for each in moved if each.after < each.before][:SHOWN_MOVES]
    gained = [each for each in reversed(moved) if each.after > each.before][:SHOWN_MOVES]
    return [
        line
        for title, some in ((f"lost most @{budget}", lost), (f"gained most @{budget}", gained))
        if some
        for line in ("", title, *map(_move, some))
    ]


def _move(moved: Moved) -> str:
    asked = moved.question
    text = (
        asked.question if len(asked.question) <= _QUESTION_WIDTH else f"{asked.question[:_QUESTION_WIDTH]}…"
    )
    return f"  {moved.before:4.0%} → {moved.after:4.0%}  {asked.history} {asked.question_id}: {text}"


def _weak_before_and_after(comparison: Comparison) -> list[str]:
    before, after = (
        abstention([pair[side] for pair in comparison.pairs], [pair[side] for pair in comparison.strays])
        for side in (0, 1)
    )
    rows = {
        "on topic marked weak, %": (before.on_topic_weak, after.on_topic_weak),
        "off topic marked weak, %": (before.off_topic_weak, after.off_topic_weak),
        "AUC, % of its best": (before.auc, after.auc),
    }
    return [
        f"{name:{_FIRST}}{_percent(was):>8} → {_percent(now)}"
        for name, (was, now) in rows.items()
        if was is not None and now is not None
    ]
