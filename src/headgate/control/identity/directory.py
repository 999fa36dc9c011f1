"""Directory: names of principals and groups. Names are documents, so that they can be erased; facts hold opaque ids only."""

import threading
from collections.abc import Mapping

from headgate.control.access.subject_resolution import unknown_name_text
from headgate.control.control import Control
from headgate.control.kernel.display_names import confusable_key
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ids import is_like_id
from headgate.control.kernel.login_normalization import ascii_lower
from headgate.control.kernel.ports import Store
from headgate.facts.ids import GroupId, PrincipalId, SubjectId
from headgate.facts.snapshot import Snapshot

_KINDS = ("principal", "group")

_RENAMING = frozenset(("group.rename", "service_principal.change", "service_principal.rename", "principal.sign_up"))
"""Commands that rename an existing principal or group: no fact changes by that."""

_FEW = 500
"""Up to this number of new ids their names are read by id; beyond it all names are read."""


class Directory:
    """Looks names up in the documents, which are read again after a principal or group was added, removed or renamed."""

    def __init__(self, control: Control, store: Store) -> None:
        self._control = control
        self._store = store
        self._lock = threading.Lock()
        self._read_at = -1
        self._reopened = 0
        self._of: object = None
        self._known: set[str] = set()
        self._names: Mapping[str, str] = {}
        self._called: Mapping[str, tuple[PrincipalId, ...]] = {}

    def name(self, subject: SubjectId) -> str:
        """Return the name of a principal or group, or the id if the name was erased."""
        return self._load_names().get(subject, subject)

    def find(self, name: str) -> PrincipalId | GroupId | None:
        """Return the principal or group with this id or name; None if there is none, or if several have the name."""
        facts = self._control.snapshot
        if name in facts.principals or name in facts.groups:
            return PrincipalId(name)
        if is_like_id(name):
            return None  # the id belongs to a deleted object; a confusable name belongs to another one
        # Compared by letters: a name that only looks the same belongs to another subject.
        wanted = ascii_lower(name)
        found = [each for each in self.find_similar(name) if ascii_lower(self._names.get(each, each)) == wanted]
        return PrincipalId(found[0]) if len(found) == 1 else None

    def principal(self, name: str) -> PrincipalId:
        """Return the principal with that id or name. Raises `NotFoundError`."""
        found = self.find(name)
        if found is None or found not in self._control.snapshot.principals:
            raise NotFoundError(unknown_name_text(name))
        return PrincipalId(found)

    def group(self, name: str) -> GroupId:
        """Return the group with that id or name. Raises `NotFoundError`."""
        found = self.find(name)
        if found is None or found not in self._control.snapshot.groups:
            raise NotFoundError(
                f"there is no group with the id or name `{name}`; `headgate group list` shows the groups"
            )
        return GroupId(found)

    def is_free(self, name: str) -> bool:
        """Return whether no principal or group has the name or a confusable one."""
        return not self.find_similar(name)

    def find_similar(self, name: str) -> frozenset[str]:
        """Return every principal and group with this id, this name or a confusable name."""
        self._load_names()
        called, facts = self._called, self._control.snapshot
        found = frozenset(id for spelling in confusable_key(name) for id in called.get(spelling, ()))
        return found | {name} if name in facts.principals or name in facts.groups else found

    def _load_names(self) -> Mapping[str, str]:
        # In this order: the facts are of the same opening of the log as the position, or of a later one.
        (reopened, _), facts = self._control.position, self._control.snapshot
        if facts.revision > self._read_at or reopened > self._reopened:
            with self._lock:
                if reopened > self._reopened:
                    # Names that were read before may come from entries that the log has lost.
                    self._reopened, self._read_at = reopened, -1
                if facts.revision > self._read_at:
                    self._take_over(facts)
        return self._names

    def _take_over(self, facts: Snapshot) -> None:
        of = (facts.principals, facts.groups)
        renamed = self._read_at < 0 or any(each.command in _RENAMING for each in self._store.entries(self._read_at))
        if renamed or of != self._of:
            self._read({*facts.principals, *facts.groups}, all_again=renamed)
            self._of = of
        self._read_at = facts.revision

    def _read(self, there: set[str], *, all_again: bool) -> None:
        """Apply the additions and removals since the names were read last, or read all names if `all_again`."""
        known = set[str]() if all_again else self._known
        names = {id: name for id, name in self._names.items() if id in there and id in known}
        called = {} if all_again else dict(self._called)
        for id in known - there:
            for spelling in confusable_key(self._names.get(id, id)):
                called[spelling] = _without(called[spelling], id)
        new = sorted(there - known)
        for kind in _KINDS:
            found = self._store.documents(kind, new if len(new) <= _FEW else None)
            names |= {id: str(body["name"]) for id, body in found.items() if id in there}
        for id in new:
            for spelling in confusable_key(names.get(id, id)):
                called[spelling] = (*called.get(spelling, ()), PrincipalId(id))
        self._names, self._called, self._known = names, called, there


def _without(ids: tuple[PrincipalId, ...], gone: str) -> tuple[PrincipalId, ...]:
    return tuple(each for each in ids if each != gone)
