"""The finding of a check."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: the subject `what` of the check, its `state`, the text `seen`, and what to `do` unless the state is `ok`."""

    what: str
    state: State
    seen: str
    do: str = ""


def build_failure(what: str, seen: str, do: str) -> Finding:
    """Return a finding of a fault that prevents the deployment from serving."""
    return Finding(what, "fail", seen, do)


def warning(what: str, seen: str, do: str) -> Finding:
    """Return a finding of a fault that does not prevent the deployment from serving."""
    return Finding(what, "warn", seen, do)
