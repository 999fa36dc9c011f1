"""What `control.ports.Store` promises, of every store: the one of a data folder and the fake that other tests use."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.control.ports import DocumentPut, Pointer, PointerConflictError, RevisionConflictError, Store
from headgate.facts.ids import ResourceId
from headgate.store import SqliteStore
from tests.fakes.store import FakeStore
from tests.store.samples import created, deleted

T1 = ResourceId("t1")


@pytest.fixture(params=["sqlite", "fake"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "fake":
        yield FakeStore()
        return
    opened = SqliteStore.open(tmp_path)
    yield opened
    opened.close()


def test_a_new_store_is_at_revision_zero(store: Store) -> None:
    assert store.head() == 0
    assert list(store.entries()) == []


def test_a_conflict_writes_nothing(store: Store) -> None:
    store.append(0, created(1))

    with pytest.raises(RevisionConflictError):
        store.append(0, created(2))

    assert store.head() == 1
    assert store.pointer(ResourceId("t2")) is None
    assert store.document("table", "t2") is None


def test_a_pointer_that_exists_undoes_the_whole_draft(store: Store) -> None:
    store.append(0, created(1))

    with pytest.raises(PointerConflictError):
        store.append(1, replace(created(2), pointers=(Pointer(T1, "file:///w/other"),)))

    assert store.head() == 1
    assert store.document("table", "t2") is None
    assert store.pointer(T1) == Pointer(T1, "file:///w/1")


def test_a_deleted_resource_takes_its_pointer_along(store: Store) -> None:
    store.append(0, created(1))
    store.append(1, deleted(1))

    assert store.pointer(T1) is None


def test_a_pointer_moves_only_from_where_it_is(store: Store) -> None:
    store.append(0, created(1))
    first = store.pointer(T1)
    assert first is not None

    store.swap_pointer(first, "file:///w/next")

    assert store.pointer(T1) == Pointer(T1, "file:///w/next")
    assert store.head() == 1
    with pytest.raises(PointerConflictError):
        store.swap_pointer(first, "file:///w/late")


def test_documents_are_replaced_and_erased(store: Store) -> None:
    store.put_document(DocumentPut("run", "a", {"state": "running"}))
    store.put_document(DocumentPut("run", "a", {"state": "failed"}))
    store.put_document(DocumentPut("run", "b", {"state": "running"}))

    assert store.document("run", "a") == {"state": "failed"}
    assert store.documents("run").keys() == {"a", "b"}
    assert store.documents("run", ["b", "c"]).keys() == {"b"}
    assert store.documents("run", []) == {}
    store.put_document(DocumentPut("run", "a", None))
    assert store.document("run", "a") is None


def test_entries_come_in_order_from_where_one_asks(store: Store) -> None:
    for number in range(3):
        assert store.append(number, created(number)) == number + 1

    assert [entry.revision for entry in store.entries(after=1)] == [2, 3]
