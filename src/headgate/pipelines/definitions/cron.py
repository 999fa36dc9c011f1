"""When a cron expression comes round, in its time zone: times are seconds since the epoch."""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError


class ScheduleError(ValueError):
    """The expression or the time zone says nothing."""


def next_after(cron: str, timezone: str, at: float) -> float | None:
    """Return the first time after `at`, or None if there is none. Raises `ScheduleError`.

    As in Debian's cron, what is meant for a time that clocks skip comes right after, and what is meant for a time that
    they show twice comes once; an expression that comes every hour or more often comes by the time that passes.
    """
    for found in _times(cron, timezone, at, reverse=False):
        if found.timestamp() > at:
            return found.timestamp()
    return None


def last_until(cron: str, timezone: str, at: float) -> float | None:
    """Return the newest time that is not after `at`, or None if there is none. Raises `ScheduleError`."""
    back = (found.timestamp() for found in _times(cron, timezone, at, reverse=True))
    last = next((found for found in back if found <= at), None)
    # Backwards, what comes once in an hour that clocks show twice is missed from within its second showing.
    while last is not None and (after := next_after(cron, timezone, last)) is not None and after <= at:
        last = after
    return last


def _times(cron: str, timezone: str, at: float, *, reverse: bool) -> CronSim:
    # Six fields would be seconds, which a run's start takes anyway.
    if len(cron.split()) != _FIELDS:
        raise ScheduleError(f"`{cron}` has not the five fields minute, hour, day, month, day of the week")
    try:
        return CronSim(cron, datetime.fromtimestamp(at, ZoneInfo(timezone)), reverse=reverse)
    except CronSimError as error:
        raise ScheduleError(f"`{cron}` is not a cron expression: {str(error).lower()}") from error
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ScheduleError(f"`{timezone}` is not a time zone, as `Europe/Berlin` is") from error


_FIELDS = 5
