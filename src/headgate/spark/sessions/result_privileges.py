"""The privileges that the rows of an operation required when they were read, kept as long as the rows."""

import threading
from collections.abc import Iterable, Sequence
from typing import Protocol
from weakref import WeakValueDictionary

from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.spark.sessions.privileges import RequiredName, RequiredPrivilege


class DecidesPrivileges(Protocol):
    """Decides on required privileges in one organization: `headgate.spark.sessions.privileges.PrivilegeChecker`."""

    def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege], /) -> str | None:
        """Return why the caller lacks one of the privileges now, or None."""
        ...

    def resource(self, need: RequiredPrivilege, /) -> ResourceId | None:
        """Return the resource that a required privilege names now, or None."""
        ...


class ResultPrivileges:
    """The privileges that one operation was allowed, each with the resource that it named then. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._allowed: dict[tuple[DecidesPrivileges, RequiredPrivilege], ResourceId | None] = {}

    def record(self, judge: DecidesPrivileges, needs: Iterable[RequiredPrivilege]) -> None:
        """Add the privileges that a judge has allowed; for a recorded one, replace the resource by the one that it names now."""
        with self._lock:
            self._allowed.update({(judge, need): judge.resource(need) for need in needs})

    def refusal(self, caller: Caller) -> str | None:
        """Return why the caller may not read the rows of the operation now, or None.

        The judge that allowed a privilege decides again: the caller may have other privileges in another organization.
        """
        with self._lock:
            allowed = tuple(self._allowed.items())
        judges = dict.fromkeys(judge for (judge, _), _ in allowed)
        refusals = (judge.refusal(caller, [need for (by, need), _ in allowed if by is judge]) for judge in judges)
        replaced = (_refuse_replaced(*asked, resource) for asked, resource in allowed)
        return next((why for each in (refusals, replaced) for why in each if why is not None), None)


class ResultPrivilegeRegistry:
    """Operations whose rows may outlive them, by id. The weak reference expires with the last holder of an operation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registered = WeakValueDictionary[str, ResultPrivileges]()

    def register(self, operation: str) -> ResultPrivileges:
        """Return the object that collects the required privileges of an operation; call this before the operation begins."""
        with self._lock:
            return self._registered.setdefault(operation, ResultPrivileges())

    def record(self, operation: str, judge: DecidesPrivileges, needs: Iterable[RequiredPrivilege]) -> None:
        """Add the privileges that a judge has allowed to an operation, if the operation is registered."""
        with self._lock:
            found = self._registered.get(operation)
        if found is not None:
            found.record(judge, needs)


def _refuse_replaced(judge: DecidesPrivileges, need: RequiredPrivilege, resource: ResourceId | None) -> str | None:
    """Return the refusal if the name no longer names the same resource: privileges on another one do not cover these rows."""
    if resource is None or not isinstance(need, RequiredName) or judge.resource(need) == resource:
        return None
    return (
        f"`{'.'.join(need.object)}` no longer names the resource that the rows were read from; run the statement again"
    )
