"""Metadata of a command: its origin, its reason, the expected resource version, and documents to store with it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ports import LOCAL, DocumentPut, DocumentSource, RequestOrigin
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


class ChangedError(CommandError):
    """The resource does not have the version that the caller expects (`If-Match`)."""


@dataclass(frozen=True, slots=True)
class ExpectedVersion:
    """The version that a resource must have for a command to be executed (optimistic locking)."""

    resource: ResourceId
    version: str


MayKnow = Callable[[str], bool]
"""Returns whether a reader may see the name of this id."""


def no_name(_: str) -> bool:
    """Return False: the reader may see no name."""
    return False


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The result of a command before it is written: facts, changed documents, and the names that the caller may see then.

    `before` are the documents before the command.
    """

    facts: Snapshot
    before: DocumentSource
    documents: tuple[DocumentPut, ...] = ()
    may_know: MayKnow = no_name

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        """Return one document as it will be after the command, or None."""
        puts = (put for put in reversed(self.documents) if (put.kind, put.id) == (kind, id))
        put = next(puts, None)
        return put.body if put is not None else self.before.document(kind, id)


def _build_no_documents(_: CommandOutcome) -> tuple[DocumentPut, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class CommandMetadata:
    """A command's origin, its reason (prose), the version that it expects, and documents to store with it.

    `keeps` returns, for the outcome of the command, the documents to write in the same transaction.
    """

    origin: RequestOrigin = LOCAL
    why: str = ""
    expected: ExpectedVersion | None = None
    keeps: Callable[[CommandOutcome], Iterable[DocumentPut]] = _build_no_documents

    def with_documents(self, puts: Iterable[DocumentPut]) -> "CommandMetadata":
        """Return the same metadata with these documents to write too."""
        more = tuple(puts)

        def keeps(outcome: CommandOutcome) -> tuple[DocumentPut, ...]:
            return (*self.keeps(outcome), *more)

        return replace(self, keeps=keeps)


INTERNAL = CommandMetadata()
"""Metadata of a command of the deployment itself."""
