"""Documents that are known to be missing are not read again until another process writes."""

from collections.abc import Mapping
from typing import Any

import pytest
from typing_extensions import override

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.control import Control
from headgate.control.kernel import command_documents
from headgate.control.kernel.command_documents import CommandDocuments
from headgate.control.kernel.metadata import CommandMetadata, CommandOutcome
from headgate.control.kernel.ports import DocumentPut, Head
from headgate.control.models.library import FixedModels
from headgate.control.resources.documents import SetDescription
from headgate.control.resources.versions import compute_upcoming_version, resource_version
from headgate.facts.caller import Caller
from tests.fakes.small_organization import MEMBER, MODELS, NOW, OWNER, RAW, controlled
from tests.fakes.store import FakeStore

FIRST, SECOND = Head(1, "a"), Head(2, "b")


class _Counting(FakeStore):
    """Counts the reads of documents."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    @override
    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        self.reads += 1
        return super().document(kind, id)


def _at_first_entry() -> tuple[CommandDocuments, _Counting]:
    store = _Counting()
    documents = CommandDocuments(store)
    documents.move_to(FIRST)
    return documents, store


def test_a_missing_document_is_read_once() -> None:
    documents, store = _at_first_entry()

    assert [documents.document("description", each) for each in ("x", "x", "y")] == [None] * 3
    documents.move_to(FIRST)
    assert documents.document("description", "x") is None
    assert store.reads == 2


def test_a_document_is_read_each_time() -> None:
    documents, store = _at_first_entry()

    for text in ("one", "two"):
        store.put_document(DocumentPut("description", "x", {"text": text}))
        assert documents.document("description", "x") == {"text": text}


def test_a_document_that_an_entry_of_this_process_writes_is_found() -> None:
    documents, store = _at_first_entry()
    put = DocumentPut("description", "x", {"text": "new"})
    documents.document("description", "x")
    store.put_document(put)
    documents.add_written([put], SECOND)

    assert documents.document("description", "x") == {"text": "new"}


def test_a_document_stays_missing_after_an_entry_of_this_process_without_it() -> None:
    documents, store = _at_first_entry()
    documents.document("description", "x")
    documents.add_written([DocumentPut("description", "y", {})], SECOND)
    documents.move_to(SECOND)

    assert documents.document("description", "x") is None
    assert store.reads == 1


def test_a_document_that_another_process_may_have_written_is_read_again() -> None:
    documents, store = _at_first_entry()
    documents.document("description", "x")
    store.put_document(DocumentPut("description", "x", {"text": "new"}))
    documents.move_to(SECOND)

    assert documents.document("description", "x") == {"text": "new"}


def test_the_number_of_missing_documents_in_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_documents, "MAX_MISSING", 2)
    documents, store = _at_first_entry()

    for id in ("x", "y", "z", "z", "x"):
        documents.document("description", id)

    assert store.reads == 4


class TestTheVersionAfterAWrite:
    def test_a_description_of_another_process_between_two_writes_counts(self) -> None:
        control, store = controlled()
        _assign(control)
        _elsewhere(store).execute(SetDescription(RAW, "new"), None)
        control.catch_up()

        assert _revoke(control) == [resource_version(control.snapshot, store, RAW)]

    def test_a_description_of_another_process_during_a_write_counts(self) -> None:
        control, store = controlled()
        _assign(control)

        def describe() -> None:
            _elsewhere(store).execute(SetDescription(RAW, "new"), None)

        store.before_append = describe

        foreseen = _revoke(control)
        assert len(foreseen) == 2
        assert foreseen[-1] == resource_version(control.snapshot, store, RAW)
        assert foreseen[0] != foreseen[-1]

    def test_a_description_of_the_command_before_counts(self) -> None:
        control, store = controlled()
        _assign(control)
        control.execute(SetDescription(RAW, "new"), Caller(OWNER))

        assert _revoke(control) == [resource_version(control.snapshot, store, RAW)]


def _elsewhere(store: FakeStore) -> Control:
    """Return another replica on the same store."""
    return Control(store, FixedModels(MODELS), lambda: NOW)


def _assign(control: Control) -> None:
    control.execute(AssignRole(MEMBER, "viewer", RAW), Caller(OWNER), _noting([]))


def _revoke(control: Control) -> list[str]:
    """Revoke the role; return the versions of the resource that were foreseen, one for each time that it was decided."""
    versions = list[str]()
    control.execute(RevokeRole(MEMBER, "viewer", RAW), Caller(OWNER), _noting(versions))
    return versions


def _noting(versions: list[str]) -> CommandMetadata:
    def keeps(outcome: CommandOutcome) -> tuple[DocumentPut, ...]:
        versions.append(compute_upcoming_version(outcome, RAW))
        return ()

    return CommandMetadata(keeps=keeps)
