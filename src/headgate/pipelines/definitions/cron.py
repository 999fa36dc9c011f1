"""Cron schedules: the next and the last time of an expression in its time zone, in seconds since the epoch."""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError


class ScheduleError(ValueError):
    """The cron expression or the time zone is invalid."""


def next_after(cron: str, timezone: str, at: float) -> float | None:
    """Return the first time after `at`, or None if there is none. Raises `ScheduleError`.

    Daylight saving time is handled as in Debian's cron: a time that clocks skip is due right after the change, and a time that
    they show twice is due once. An expression for every hour or more often follows the elapsed time.
    """
    for found in _times(cron, timezone, at, reverse=False):
        if found.timestamp() > at:
            return found.timestamp()
    return None


def last_until(cron: str, timezone: str, at: float) -> float | None:
    """Return the latest time that is not after `at`, or None if there is none. Raises `ScheduleError`."""
    back = (found.timestamp() for found in _times(cron, timezone, at, reverse=True))
    last = next((found for found in back if found <= at), None)
    # Backwards, CronSim misses a time in an hour that clocks show twice if it starts within the second of the two.
    while last is not None and (after := next_after(cron, timezone, last)) is not None and after <= at:
        last = after
    return last


def _times(cron: str, timezone: str, at: float, *, reverse: bool) -> CronSim:
    # CronSim accepts a sixth field for seconds, but starting a run takes seconds anyway.
    if len(cron.split()) != _FIELDS:
        raise ScheduleError(
            f"the cron expression `{cron}` has not exactly five fields; write minute, hour, day of the month, month, day of "
            "the week"
        )
    try:
        return CronSim(cron, datetime.fromtimestamp(at, ZoneInfo(timezone)), reverse=reverse)
    except CronSimError as error:
        raise ScheduleError(
            f"the cron expression `{cron}` is invalid ({str(error).lower()}); write minute, hour, day of "
            "the month, month, day of the week"
        ) from error
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ScheduleError(
            f"`{timezone}` is not a known time zone; name an IANA time zone such as `Europe/Berlin`"
        ) from error


_FIELDS = 5
