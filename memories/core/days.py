"""Arithmetic with days that stays within the calendar: what lies before its first day or behind its last is no day."""

from calendar import monthrange
from datetime import date, timedelta


def day_after(day: date, days: int) -> date | None:
    """Return the day so many days later, or earlier where the number is negative; None where there is none."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def end_of_month(day: date) -> date:
    """Return the last day of the month that a day lies in."""
    return day.replace(day=monthrange(day.year, day.month)[1])
