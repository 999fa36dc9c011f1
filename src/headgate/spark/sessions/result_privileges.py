"""What the rows of an operation needed when they were read, for as long as the rows are kept."""

import threading
from collections.abc import Iterable, Sequence
from typing import Protocol
from weakref import WeakValueDictionary

from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.spark.sessions.privileges import RequiredName, RequiredPrivilege


class DecidesPrivileges(Protocol):
    """Decides on needs in one organization: `headgate.spark.sessions.privileges.PrivilegeChecker`."""

    def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege], /) -> str | None:
        """Return why the caller may not have all of this now, or None."""
        ...

    def resource(self, need: RequiredPrivilege, /) -> ResourceId | None:
        """Return the resource that a need names now, or None."""
        ...


class ResultPrivileges:
    """What one operation was allowed, with the resource that each need named then. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._allowed: dict[tuple[DecidesPrivileges, RequiredPrivilege], ResourceId | None] = {}

    def record(self, judge: DecidesPrivileges, needs: Iterable[RequiredPrivilege]) -> None:
        """Add what a judge has allowed. For a need that is there already, the resource that it names now counts."""
        with self._lock:
            self._allowed.update({(judge, need): judge.resource(need) for need in needs})

    def refusal(self, caller: Caller) -> str | None:
        """Return why the caller may not read the rows of the operation now, or None.

        The judge that allowed a need is asked again: the caller may have other rights in another organization.
        """
        with self._lock:
            allowed = tuple(self._allowed.items())
        judges = dict.fromkeys(judge for (judge, _), _ in allowed)
        refusals = (judge.refusal(caller, [need for (by, need), _ in allowed if by is judge]) for judge in judges)
        replaced = (_refuse_replaced(*asked, resource) for asked, resource in allowed)
        return next((why for each in (refusals, replaced) for why in each if why is not None), None)


class ResultPrivilegeRegistry:
    """Operations whose rows may outlive them, by id. An operation is forgotten with the last holder of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registered = WeakValueDictionary[str, ResultPrivileges]()

    def register(self, operation: str) -> ResultPrivileges:
        """Return what fills with the needs of an operation from now on; call it before the operation begins."""
        with self._lock:
            return self._registered.setdefault(operation, ResultPrivileges())

    def record(self, operation: str, judge: DecidesPrivileges, needs: Iterable[RequiredPrivilege]) -> None:
        """Add what a judge has allowed to an operation, if it is registered."""
        with self._lock:
            found = self._registered.get(operation)
        if found is not None:
            found.record(judge, needs)


def _refuse_replaced(judge: DecidesPrivileges, need: RequiredPrivilege, resource: ResourceId | None) -> str | None:
    """Return the refusal for a name that has passed to another resource, whose rights say nothing about these rows."""
    if resource is None or not isinstance(need, RequiredName) or judge.resource(need) == resource:
        return None
    return f"`{'.'.join(need.object)}` is not the resource that the rows were read from; run the statement again"
