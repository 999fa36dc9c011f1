"""Schedules that follow one another in a circle: their runs would never come to an end."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def goes_round(start: T, before: Callable[[T], Iterable[T]]) -> bool:
    """Say whether what comes before a pipeline, and before that, is at last the pipeline itself."""
    known, left = set[T](), list(before(start))
    while left:
        each = left.pop()
        if each == start:
            return True
        if each not in known:
            known.add(each)
            left.extend(before(each))
    return False
