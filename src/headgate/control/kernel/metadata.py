"""How a command was sent: through which endpoint and why, and what else has to hold or be kept when it is written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ports import LOCAL, DocumentPut, RequestOrigin
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


class ChangedError(CommandError):
    """The resource is not at the version that the command was meant for."""


@dataclass(frozen=True, slots=True)
class ExpectedVersion:
    """The version of a resource that a command was meant for."""

    resource: ResourceId
    version: str


MayKnow = Callable[[str], bool]
"""Whether a reader may see the name that belongs to this id."""


def no_name(_: str) -> bool:
    """Return that the reader may see no name."""
    return False


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The result of a command before it is written: the facts, the changed documents, and which names the caller may know then."""

    facts: Snapshot
    documents: tuple[DocumentPut, ...] = ()
    may_know: MayKnow = no_name


def _build_no_documents(_: CommandOutcome) -> tuple[DocumentPut, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class CommandMetadata:
    """Where a command comes from, why it was sent (prose), which version it was meant for, and what to keep with it.

    `keeps` says for the outcome of the command which documents are written with it.
    """

    origin: RequestOrigin = LOCAL
    why: str = ""
    expected: ExpectedVersion | None = None
    keeps: Callable[[CommandOutcome], Iterable[DocumentPut]] = _build_no_documents

    def with_documents(self, puts: Iterable[DocumentPut]) -> "CommandMetadata":
        """Return a call with which these documents are written too."""
        more = tuple(puts)

        def keeps(outcome: CommandOutcome) -> tuple[DocumentPut, ...]:
            return (*self.keeps(outcome), *more)

        return replace(self, keeps=keeps)


INTERNAL = CommandMetadata()
"""The deployment's own doing."""
