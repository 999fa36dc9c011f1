"""A reference model of histories in plain Python: the versions of one key, with times as numbers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Values = tuple[str | None, str | None]
"""The tracked and the untracked value of a row."""


@dataclass(frozen=True, order=True)
class Version:
    """The values of a row from a moment until another one, or until now."""

    since: int
    until: int | None
    values: Values


def after_changes(versions: Iterable[Version], changes: Mapping[int, Values]) -> list[Version]:
    """Return the versions of a key after rows with change times."""
    events = {each.since: each.values for each in versions} | dict(changes)
    periods: list[tuple[int, Values]] = []
    for since, values in sorted(events.items(), key=lambda each: each[0]):
        if periods and periods[-1][1][0] == values[0]:
            periods[-1] = (periods[-1][0], values)
        else:
            periods.append((since, values))
    ends = [since for since, _ in periods[1:]]
    return [Version(since, until, values) for (since, values), until in zip(periods, [*ends, None], strict=True)]


def after_a_look(versions: list[Version], values: Values | None, now: int, *, close_absent: bool) -> list[Version]:
    """Return the versions of a key after its row was observed, or observed to be absent (None)."""
    current = next((each for each in versions if each.until is None), None)
    past = [each for each in versions if each is not current]
    if values is None:
        gone = current is not None and close_absent
        return [*past, Version(current.since, now, current.values)] if gone and current else versions
    if current is None:
        return [*past, Version(now, None, values)]
    if current.values[0] == values[0]:
        return [*past, Version(current.since, None, values)]
    return [*past, Version(current.since, now, current.values), Version(now, None, values)]
