"""A store in memory that keeps the port's promises, and can be made to lose a race."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from headgate.control.ports import (
    DocumentPut,
    Draft,
    Entry,
    Pointer,
    PointerConflictError,
    RevisionConflictError,
)
from headgate.facts.changes import Change, ResourceDeleted
from headgate.facts.ids import ResourceId


class FakeStore:
    """Keeps `control.ports.Store` in plain lists. `before_append` runs once, just before the next append looks."""

    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.bodies: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.pointers: dict[ResourceId, Pointer] = {}
        self.before_append: Callable[[], None] | None = None

    def head(self) -> int:
        return len(self.log)

    def entries(self, after: int = 0) -> Iterator[Entry]:
        yield from self.log[after:]

    def append(self, expected: int, draft: Draft) -> int:
        racing, self.before_append = self.before_append, None
        if racing:
            racing()
        if expected != self.head():
            raise RevisionConflictError
        if any(pointer.table in self.pointers for pointer in draft.pointers):
            raise PointerConflictError
        self.log.append(Entry(expected + 1, draft.at, draft.actor, draft.command, draft.changes))
        for put in draft.documents:
            self.put_document(put)
        for change in draft.changes:
            if isinstance(change, ResourceDeleted):
                self.pointers.pop(change.resource, None)
        self.pointers |= {pointer.table: pointer for pointer in draft.pointers}
        return self.head()

    def write(self, *changes: Change) -> None:
        """Append what another process decided."""
        self.append(self.head(), Draft(0.0, None, "elsewhere", changes))

    def pointer(self, table: ResourceId) -> Pointer | None:
        return self.pointers.get(table)

    def swap_pointer(self, expected: Pointer, new_location: str) -> None:
        if self.pointers.get(expected.table) != expected:
            raise PointerConflictError
        self.pointers[expected.table] = Pointer(expected.table, new_location)

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        return self.bodies.get((kind, id))

    def documents(self, kind: str, ids: Sequence[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
        return {id: body for (held, id), body in self.bodies.items() if held == kind and (ids is None or id in ids)}

    def put_document(self, put: DocumentPut) -> None:
        if put.body is None:
            self.bodies.pop((put.kind, put.id), None)
        else:
            self.bodies[put.kind, put.id] = put.body
