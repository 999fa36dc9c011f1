"""Names of people and groups: documents, so that they can be erased; the facts hold opaque ids only."""

import threading
from collections.abc import Mapping

from headgate.control.access.visibility import unknown_name_text
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
"""Commands that give another name to who is there already: no fact tells of that."""

_FEW = 500
"""So many names are asked for one by one; of more, all are read."""


class Directory:
    """Looks names up in the documents, which are read again when somebody came, went or got another name."""

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
        """Return a principal's or group's name; the id of somebody who was forgotten."""
        return self._load_names().get(subject, subject)

    def find(self, name: str) -> PrincipalId | GroupId | None:
        """Return the principal or group of this id or name; None for nobody, and for a name that several have."""
        facts = self._control.snapshot
        if name in facts.principals or name in facts.groups:
            return PrincipalId(name)
        if is_like_id(name):
            return None  # what had the id is gone, and a name that is like it is another's
        # By its letters: a name that only looks the same is that of another.
        wanted = ascii_lower(name)
        found = [each for each in self.find_similar(name) if ascii_lower(self._names.get(each, each)) == wanted]
        return PrincipalId(found[0]) if len(found) == 1 else None

    def principal(self, name: str) -> PrincipalId:
        """Return the principal of that id or name, or raise `NotFoundError`."""
        found = self.find(name)
        if found is None or found not in self._control.snapshot.principals:
            raise NotFoundError(unknown_name_text(name))
        return PrincipalId(found)

    def group(self, name: str) -> GroupId:
        """Return the group of that id or name, or raise `NotFoundError`."""
        found = self.find(name)
        if found is None or found not in self._control.snapshot.groups:
            raise NotFoundError(f"there is no group `{name}`")
        return GroupId(found)

    def is_free(self, name: str) -> bool:
        """Return whether no principal and no group is called so, or so alike that readers would mix them up."""
        return not self.find_similar(name)

    def find_similar(self, name: str) -> frozenset[str]:
        """Return every principal and group of this id, of this name, or of one that readers would take for it."""
        self._load_names()
        called, facts = self._called, self._control.snapshot
        found = frozenset(id for spelling in confusable_key(name) for id in called.get(spelling, ()))
        return found | {name} if name in facts.principals or name in facts.groups else found

    def _load_names(self) -> Mapping[str, str]:
        # In this order: the facts are those of this opening of the log, or of a later one.
        (reopened, _), facts = self._control.position, self._control.snapshot
        if facts.revision > self._read_at or reopened > self._reopened:
            with self._lock:
                if reopened > self._reopened:
                    # Names that were read before may be of entries that the log has lost.
                    self._reopened, self._read_at = reopened, -1
                if facts.revision > self._read_at:
                    self._take_over(facts)
        return self._names

    def _take_over(self, facts: Snapshot) -> None:
        of = (facts.principals, facts.groups)
        renamed = self._read_at < 0 or any(each.command in _RENAMING for each in self._store.entries(self._read_at))
        if renamed or of != self._of:
            self._read({*facts.principals, *facts.groups}, anew=renamed)
            self._of = of
        self._read_at = facts.revision

    def _read(self, there: set[str], *, anew: bool) -> None:
        """Take over who came and who went since the names were read last, or read all of them `anew`."""
        known = set[str]() if anew else self._known
        names = {id: name for id, name in self._names.items() if id in there and id in known}
        called = {} if anew else dict(self._called)
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
