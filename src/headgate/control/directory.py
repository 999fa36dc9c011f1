"""Names of people and groups: documents, so that they can be erased; the facts hold opaque ids only."""

from collections.abc import Mapping

from headgate.control.command import MissingError
from headgate.control.control import Control
from headgate.control.ports import Store
from headgate.facts.ids import GroupId, PrincipalId, SubjectId

_KINDS = ("principal", "group")


class Directory:
    """Looks names up in the documents, which are read again when the log has moved on."""

    def __init__(self, control: Control, store: Store) -> None:
        self._control = control
        self._store = store
        self._read_at = -1
        self._names: Mapping[str, str] = {}

    def name(self, subject: SubjectId) -> str:
        """Return a principal's or group's name; the id of somebody who was forgotten."""
        return self._all().get(subject, subject)

    def principal(self, name: str) -> PrincipalId:
        """Return the principal of that name, or raise `MissingError`."""
        for id in self._control.snapshot.principals:
            if self.name(id) == name:
                return id
        raise MissingError(f"there is nobody called `{name}`")

    def subject(self, name: str) -> SubjectId:
        """Return the principal or group of that name, or raise `MissingError`."""
        for group in self._control.snapshot.groups:
            if self.name(group) == name:
                return group
        return self.principal(name)

    def group(self, name: str) -> GroupId:
        """Return the group of that name, or raise `MissingError`."""
        for group in self._control.snapshot.groups:
            if self.name(group) == name:
                return group
        raise MissingError(f"there is no group `{name}`")

    def is_free(self, name: str) -> bool:
        """Say whether nobody and no group is called so."""
        facts = self._control.snapshot
        return name not in {self.name(id) for id in (*facts.principals, *facts.groups)}

    def _all(self) -> Mapping[str, str]:
        revision = self._control.snapshot.revision
        if revision != self._read_at:
            documents = [self._store.documents(kind) for kind in _KINDS]
            self._names = {id: str(body["name"]) for found in documents for id, body in found.items()}
            self._read_at = revision
        return self._names
