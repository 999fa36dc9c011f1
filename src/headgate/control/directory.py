"""Names of people and groups: documents, so that they can be erased; the facts hold opaque ids only."""

from collections.abc import Mapping, Sequence

from headgate.control.command import MissingError
from headgate.control.control import Control
from headgate.control.people import nobody
from headgate.control.ports import Store
from headgate.control.titles import alike
from headgate.facts.ids import GroupId, PrincipalId, SubjectId
from headgate.facts.snapshot import Snapshot

_KINDS = ("principal", "group")


class Directory:
    """Looks names up in the documents, which are read again when somebody came, went or got another name."""

    def __init__(self, control: Control, store: Store) -> None:
        self._control = control
        self._store = store
        self._read_at = -1
        self._of: object = None
        self._names: Mapping[str, str] = {}
        self._called: Mapping[str, Sequence[PrincipalId]] = {}

    def name(self, subject: SubjectId) -> str:
        """Return a principal's or group's name; the id of somebody who was forgotten."""
        return self._all().get(subject, subject)

    def find(self, name: str) -> PrincipalId | GroupId | None:
        """Return the principal or group of this id or name; None for nobody, and for a name that several have."""
        facts = self._control.snapshot
        if name in facts.principals or name in facts.groups:
            return PrincipalId(name)
        found = self._ids().get(alike(name), ())
        return found[0] if len(found) == 1 else None

    def principal(self, name: str) -> PrincipalId:
        """Return the principal of that id or name, or raise `MissingError`."""
        found = self.find(name)
        if found is None or found not in self._control.snapshot.principals:
            raise MissingError(nobody(name))
        return PrincipalId(found)

    def group(self, name: str) -> GroupId:
        """Return the group of that id or name, or raise `MissingError`."""
        found = self.find(name)
        if found is None or found not in self._control.snapshot.groups:
            raise MissingError(f"there is no group `{name}`")
        return GroupId(found)

    def is_free(self, name: str) -> bool:
        """Say whether nobody and no group is called so, or so alike that people would mix them up."""
        return self.find(name) is None and alike(name) not in self._ids()

    def _ids(self) -> Mapping[str, Sequence[PrincipalId]]:
        self._all()
        return self._called

    def _all(self) -> Mapping[str, str]:
        facts = self._control.snapshot
        if facts.revision != self._read_at:
            if self._outdated(facts):
                self._read(facts)
            self._read_at = facts.revision
        return self._names

    def _outdated(self, facts: Snapshot) -> bool:
        """Say whether somebody may be called otherwise than when the names were read. A new name alone changes no facts."""
        if self._read_at < 0 or (facts.principals, facts.groups) != self._of:
            return True
        return any(not each.changes for each in self._store.entries(self._read_at))

    def _read(self, facts: Snapshot) -> None:
        documents = [self._store.documents(kind) for kind in _KINDS]
        self._names = {id: str(body["name"]) for found in documents for id, body in found.items()}
        called: dict[str, list[PrincipalId]] = {}
        for id in (*facts.principals, *facts.groups):
            called.setdefault(alike(self._names.get(id, id)), []).append(PrincipalId(id))
        self._called = called
        self._of = (facts.principals, facts.groups)
