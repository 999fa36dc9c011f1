"""Namespaces are databases: list, create, look up, drop."""

from typing import Any

from headgate.doors.iceberg_rest.asking import Asking
from headgate.doors.iceberg_rest.errors import bad_request, no_such_namespace, refusal, shown
from headgate.doors.iceberg_rest.messages import CreateNamespace, parsed
from headgate.doors.iceberg_rest.ports import Gate, Name, RefusedError

_NOT_KEPT = "owner"
"""Spark always sends it; who made a database is a fact of its own."""


class Namespaces:
    """The databases of one lake, as far as the caller may know of them."""

    def __init__(self, gate: Gate, lake: str) -> None:
        self._gate = gate
        self._lake = lake

    def list(self, asking: Asking, parent: str) -> dict[str, Any]:
        """Return the databases that the caller may discover. Nothing lies below one."""
        if parent:
            self._discovered(asking, (self._lake, parent))
            return {"namespaces": []}
        return {"namespaces": [[name] for name in self._gate.visible(asking.caller, (self._lake,))]}

    def create(self, asking: Asking) -> dict[str, Any]:
        """Make a database. Needs `lake.create_database`."""
        message = parsed(CreateNamespace, asking.body)
        if extra := sorted(message.properties.keys() - {_NOT_KEPT}):
            raise bad_request(f"the namespace property `{extra[0]}` is not supported; leave it out")
        name = (self._lake, *message.namespace)
        verdict = self._gate.check(asking.caller, "lake.create_database", (self._lake,))
        if not verdict.allowed:
            raise refusal(verdict, no_such_namespace(self._lake))
        try:
            self._gate.create_database(asking.caller, name)
        except RefusedError as error:
            raise refusal(error.verdict, no_such_namespace(self._lake)) from error
        return {"namespace": list(message.namespace), "properties": {}}

    def load(self, asking: Asking) -> dict[str, Any]:
        """Return a database that the caller may discover."""
        name = self._discovered(asking, asking.database(self._lake))
        return {"namespace": list(name[1:]), "properties": {}}

    def drop(self, asking: Asking) -> None:
        """Remove an empty database. Needs `database.drop`."""
        name = self._discovered(asking, asking.database(self._lake))
        missing = no_such_namespace(shown(name))
        verdict = self._gate.check(asking.caller, "database.drop", name)
        if not verdict.allowed:
            raise refusal(verdict, missing)
        try:
            self._gate.drop_database(asking.caller, name)
        except RefusedError as error:
            raise refusal(error.verdict, missing) from error

    def tables(self, asking: Asking) -> dict[str, Any]:
        """Return the tables of a database that the caller may discover."""
        name = self._discovered(asking, asking.database(self._lake))
        children = self._gate.visible(asking.caller, name)
        return {"identifiers": [{"namespace": list(name[1:]), "name": child} for child in children]}

    def _discovered(self, asking: Asking, name: Name | None) -> Name:
        if name is None:
            raise no_such_namespace(asking.shown())
        verdict = self._gate.check(asking.caller, "database.describe", name)
        if verdict.resource is None or not verdict.discoverable:
            raise no_such_namespace(shown(name))
        return name
