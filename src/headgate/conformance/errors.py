"""The error of invalid scenario files, and the parser of the times in them."""

from headgate.control.kernel.parsing import InvalidDocumentError

_DAY = 86_400.0


class ScenarioError(InvalidDocumentError):
    """A world or a case contains something that the format or the model does not have; the message names it."""


def time_after(now: float, offset: str) -> float:
    """Return the time (seconds since the epoch) of an offset such as `+30d` from `now`. Raises `ScenarioError` for another form."""
    days = offset.removeprefix("+").removesuffix("d")
    if offset != f"+{days}d" or not days.isdecimal():
        raise ScenarioError(f"`{offset}` is not a time; write an offset in days, such as `+30d`")
    return now + int(days) * _DAY
