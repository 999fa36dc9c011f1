"""What the files of a scenario are refused for, and the times that they name."""

from headgate.control.kernel.parsing import InvalidDocumentError

_DAY = 86_400.0


class ScenarioError(InvalidDocumentError):
    """A world or a case says what neither the format nor the model knows; the message names it."""


def time_after(now: float, offset: str) -> float:
    """Return the time that an offset like `+30d` after `now` (seconds). Raises `ScenarioError` for another form."""
    days = offset.removeprefix("+").removesuffix("d")
    if offset != f"+{days}d" or not days.isdecimal():
        raise ScenarioError(f"`{offset}` is no time; write days from now, like `+30d`")
    return now + int(days) * _DAY
