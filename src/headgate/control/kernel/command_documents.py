"""The documents of a log that only commands write: those that are known to be missing are not read again."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from headgate.control.kernel.ports import DocumentPut, DocumentSource, Head

MAX_MISSING: Final = 100_000
"""The maximum number of documents that are known to be missing."""


class CommandDocuments:
    """Reads the documents as they are at one entry of a log. Not safe to use from several threads.

    Most resources have no document, and a write would look for them again each time. Since every document of these kinds is
    written with an entry, a missing one stays missing until an entry follows that this process has not written itself.
    """

    def __init__(self, store: DocumentSource) -> None:
        self._store = store
        self._head = Head()
        self._missing = set[tuple[str, str]]()

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        """Return one document, or None."""
        if (kind, id) in self._missing:
            return None
        found = self._store.document(kind, id)
        if found is None:
            if len(self._missing) >= MAX_MISSING:
                self._missing.clear()
            self._missing.add((kind, id))
        return found

    def move_to(self, head: Head) -> None:
        """Read the documents as they are at an entry; forget what is known of another one."""
        if head != self._head:
            self._missing.clear()
            self._head = head

    def add_written(self, puts: Iterable[DocumentPut], head: Head) -> None:
        """Move to an entry that this process has written, with these documents."""
        self._missing.difference_update((put.kind, put.id) for put in puts)
        self._head = head
