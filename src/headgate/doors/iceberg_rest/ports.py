"""What this door asks of the rest: who is asking, what they may do, and the commands behind its writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate.control.gate import Verdict
from headgate.control.ports import Pointer
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

Name = tuple[str, ...]
"""A full name, lake first: `("lake", "raw", "flights")`."""


@dataclass(frozen=True, slots=True)
class Identified:
    """Who is asking. `guarded` if it comes from the Spark driver, which decides each statement before."""

    caller: Caller
    guarded: bool


Identify = Callable[[str, str, Mapping[str, str], bytes], Identified | None]
"""From method, target (path with query, as sent), headers (names in lower case) and body to who sent it."""


class GateError(Exception):
    """A command was not accepted, and changed nothing."""


class RefusedError(GateError):
    """A command was refused when it was decided on the facts it would have landed on."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


class NameTakenError(GateError):
    """There is something of that name already."""


class NotEmptyError(GateError):
    """The database still holds something."""


class Gate(Protocol):
    """Decisions and commands by name.

    `check` may allow an action on a name that does not exist; then the verdict has no resource. The commands raise
    `RefusedError`, for something that is gone with a verdict that is not discoverable; they change nothing then.
    """

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        """Answer whether the caller may do this, and may know of the name."""
        ...

    def visible(self, caller: Caller, names: Sequence[str]) -> Sequence[str]:
        """Return the names below this one that the caller may discover."""
        ...

    def create_database(self, caller: Caller, name: Name) -> None:
        """Make a database. Raises `NameTakenError`."""
        ...

    def drop_database(self, caller: Caller, name: Name) -> None:
        """Remove an empty database. Raises `NotEmptyError`."""
        ...

    def create_table(self, caller: Caller, database: Name, name: str, table: ResourceId, pointer: Pointer) -> None:
        """Make a table and its pointer in one transaction. Raises `NameTakenError`."""
        ...

    def rename_table(self, caller: Caller, table: ResourceId, database: Name, name: str) -> None:
        """Give a table another name, perhaps in another database. Raises `NameTakenError`."""
        ...

    def drop_table(self, caller: Caller, table: ResourceId) -> None:
        """Remove a table and its pointer in one transaction."""
        ...
