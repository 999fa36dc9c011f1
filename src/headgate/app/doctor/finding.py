"""What a check found."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, what was seen, and what to do about it if it is not well."""

    what: str
    state: State
    seen: str
    do: str = ""


def build_failure(what: str, seen: str, do: str) -> Finding:
    """Return what keeps a deployment from serving."""
    return Finding(what, "fail", seen, do)


def warning(what: str, seen: str, do: str) -> Finding:
    """Return what does not keep it from serving yet."""
    return Finding(what, "warn", seen, do)
