"""The contract of `control.ports` for stores, tested on every kind of store."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import pytest

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import (
    Authorization,
    Checkpoint,
    DocumentConflictError,
    DocumentPut,
    Head,
    LogEntry,
    LogWrite,
    Pointer,
    PointerConflictError,
    PointerMove,
    RequestOrigin,
    RevisionConflictError,
    Store,
)
from headgate.control.kernel.stores import Stores
from headgate.facts.ids import ResourceId, TokenId
from headgate.store import SqlStores
from tests.facts.samples import ANNA, BEN, LAKE
from tests.store.samples import OTHER, ROOT, created, deleted

T1 = ResourceId("t1")


@pytest.fixture
def store(stores: Stores) -> Store:
    return stores.log(ROOT)


class TestLog:
    """The entries of one log."""

    def test_a_log_begins_at_revision_zero(self, store: Store) -> None:
        assert store.head().revision == 0
        assert list(store.entries()) == []

    def test_a_log_returns_its_entries_in_order_after_a_given_revision(self, store: Store) -> None:
        for number in range(3):
            assert store.append(store.head(), created(number)).revision == number + 1

        assert [entry.revision for entry in store.entries(after=1)] == [2, 3]

    def test_an_entry_has_every_field_of_its_draft(self, store: Store) -> None:
        origin = RequestOrigin("api", "request-1", TokenId("t"))
        grounds = (
            Authorization("table.create", LAKE, "nekt", "owner", ROOT),
            Authorization("table.alter", LAKE, "nekt"),
        )
        draft = LogWrite(1.5, ANNA, "create_table", created(1).changes, origin=origin, grounds=grounds)

        store.append(Head(), draft)

        [entry] = store.entries()
        assert replace(entry, hash="") == LogEntry(1, 1.5, ANNA, "create_table", draft.changes, origin, grounds)
        assert entry == store.entry(1)

    def test_a_log_has_no_entry_beyond_its_ends(self, store: Store) -> None:
        store.append(Head(), created(1))

        assert store.entry(0) is None
        assert store.entry(2) is None

    def test_a_log_knows_the_revision_of_a_time(self, store: Store) -> None:
        for number, at in enumerate((10.0, 20.0, 15.0, 30.0)):
            store.append(store.head(), replace(created(number), at=at))

        assert [store.revision_at(at) for at in (9.9, 10.0, 17.0, 20.0, 29.0, 30.0, 99.0)] == [0, 1, 3, 3, 3, 4, 4]

    def test_an_entry_at_another_revision_than_the_next_is_refused(self, store: Store) -> None:
        store.append(Head(), created(1))

        for expected in (Head(), Head(2, store.head().hash)):
            with pytest.raises(RevisionConflictError):
                store.append(expected, created(2))

        assert store.head().revision == 1
        assert store.pointer(ResourceId("t2")) is None
        assert store.document("table", "t2") is None

    def test_an_entry_behind_another_head_of_the_same_revision_is_refused(self, store: Store) -> None:
        head = store.append(Head(), created(1))

        with pytest.raises(RevisionConflictError):
            store.append(Head(1, "another"), created(2))

        assert store.head() == head

    def test_a_log_chains_its_entries_by_their_hashes_and_returns_the_head(self, store: Store) -> None:
        heads = [Head(), *(store.append(store.head(), created(number)) for number in range(3))]

        entries = list(store.entries())

        assert [entry.head for entry in entries] == heads[1:]
        assert [entry.previous_hash for entry in entries] == [head.hash for head in heads[:-1]]
        assert store.head() == heads[-1]
        assert len({head.hash for head in heads}) == 4


class TestPointers:
    """Pointers: the locations of the tables' metadata."""

    def test_a_pointer_that_exists_undoes_the_whole_draft(self, store: Store) -> None:
        store.append(Head(), created(1))

        with pytest.raises(PointerConflictError):
            store.append(store.head(), replace(created(2), pointers=(Pointer(T1, "file:///w/other"),)))

        assert store.head().revision == 1
        assert store.document("table", "t2") is None
        assert store.pointer(T1) == Pointer(T1, "file:///w/1")

    def test_a_pointer_is_deleted_with_its_resource(self, store: Store) -> None:
        store.append(Head(), created(1))
        store.append(store.head(), deleted(1))

        assert store.pointer(T1) is None

    def test_a_pointer_moves_only_from_its_current_location(self, store: Store) -> None:
        store.append(Head(), created(1))
        first = store.pointer(T1)
        assert first is not None

        kept = DocumentPut("table", "t1", {"answered": []})
        store.swap_pointers([PointerMove(first, "file:///w/next")], [kept])

        assert store.pointer(T1) == Pointer(T1, "file:///w/next")
        assert store.document("table", "t1") == {"answered": []}
        assert store.head().revision == 1
        with pytest.raises(PointerConflictError):
            store.swap_pointers([PointerMove(first, "file:///w/late")])

    def test_pointers_move_together_or_not_at_all(self, store: Store) -> None:
        for number in (1, 2):
            store.append(store.head(), created(number))
        first, second = sorted(store.pointers(), key=lambda each: each.table)
        stale = Pointer(second.table, "file:///w/old")

        with pytest.raises(PointerConflictError):
            store.swap_pointers([PointerMove(first, "file:///w/a"), PointerMove(stale, "file:///w/b")])
        assert sorted(store.pointers(), key=lambda each: each.table) == [first, second]

        store.swap_pointers([PointerMove(second, "file:///w/b"), PointerMove(first, "file:///w/a")])
        assert {each.metadata_location for each in store.pointers()} == {"file:///w/a", "file:///w/b"}


class TestDocuments:
    """Documents that facts refer to."""

    def test_a_document_is_replaced_and_erased(self, store: Store) -> None:
        store.put_document(DocumentPut("run", "a", {"state": "running"}))
        store.put_document(DocumentPut("run", "a", {"state": "failed"}))
        store.put_document(DocumentPut("run", "b", {"state": "running"}))

        assert store.document("run", "a") == {"state": "failed"}
        assert store.documents("run").keys() == {"a", "b"}
        assert store.documents("run", ["b", "c"]).keys() == {"b"}
        assert store.documents("run", []) == {}
        store.put_document(DocumentPut("run", "a", None))
        assert store.document("run", "a") is None

    def test_a_new_document_replaces_nothing(self, store: Store) -> None:
        store.append(Head(), replace(created(1), documents=(DocumentPut("login", "anna", {"of": "u1"}, new=True),)))

        with pytest.raises(DocumentConflictError):
            store.append(
                store.head(), replace(created(2), documents=(DocumentPut("login", "anna", {"of": "u2"}, new=True),))
            )

        assert store.head().revision == 1
        assert store.pointer(ResourceId("t2")) is None
        assert store.document("login", "anna") == {"of": "u1"}

    def test_a_new_document_outside_a_command_replaces_nothing_either(self, store: Store) -> None:
        store.put_document(DocumentPut("login", "anna", {"of": "u1"}, new=True))

        with pytest.raises(DocumentConflictError):
            store.put_document(DocumentPut("login", "anna", {"of": "u2"}, new=True))

        assert store.document("login", "anna") == {"of": "u1"}

    def test_a_document_is_taken_by_one_caller_only(self, store: Store) -> None:
        body = {"hash": "é", "ends": 1000.5, "told": {"agent": "a"}}
        store.put_document(DocumentPut("device", "a", body))
        taken = DocumentPut("device", "a", None, expected=store.document("device", "a"))

        store.put_document(taken)

        assert store.document("device", "a") is None
        with pytest.raises(DocumentConflictError):
            store.put_document(taken)

    def test_a_document_that_has_changed_meanwhile_is_not_replaced(self, store: Store) -> None:
        store.put_document(DocumentPut("device", "a", {"allow": False}))

        with pytest.raises(DocumentConflictError):
            store.put_document(DocumentPut("device", "a", {"allow": True}, expected={}))
        store.put_document(DocumentPut("device", "a", {"allow": True}, expected={"allow": False}))

        assert store.document("device", "a") == {"allow": True}

    def test_a_draft_with_a_document_that_was_taken_is_not_written(self, store: Store) -> None:
        with pytest.raises(DocumentConflictError):
            store.append(
                Head(), replace(created(1), documents=(DocumentPut("login", "anna", None, expected={"of": "u1"}),))
            )

        assert store.head().revision == 0

    @pytest.mark.parametrize("text", ["", "é", "Ж\n\t", "a\0b", "\ud800", "'; DROP TABLE documents; --", "x" * 20_000])
    def test_a_document_can_hold_any_text(self, store: Store, text: str) -> None:
        store.put_document(DocumentPut("note", "n", {text: [text, {"in": text}]}))

        assert store.document("note", "n") == {text: [text, {"in": text}]}

    @pytest.mark.parametrize("id", ["", "a\0b", "\ud800", "'", "%", "x" * 5000])
    def test_a_missing_document_is_not_found_under_any_id(self, store: Store, stores: Stores, id: str) -> None:
        assert store.document("token", id) is None
        assert store.documents("token", [id, "b"]) == {}
        assert store.pointer(ResourceId(id)) is None
        assert stores.find("token", id) is None

    def test_documents_are_found_by_many_ids(self, store: Store) -> None:
        store.put_document(DocumentPut("run", "7", {"state": "running"}))
        store.put_document(DocumentPut("run", "1999", {"state": "failed"}))

        assert store.documents("run", [str(number) for number in range(2000)]).keys() == {"7", "1999"}


class TestCheckpoints:
    """Checkpoints: stored copies of the facts."""

    def test_the_newest_checkpoint_up_to_a_given_revision_is_found(self, store: Store) -> None:
        kept = [Checkpoint(revision, float(revision), bytes([0, revision, 255])) for revision in (5, 7, 9)]
        for checkpoint in kept:
            store.put_checkpoint(checkpoint)

        assert store.checkpoint() == kept[2]
        assert store.checkpoint(at_most=8) == kept[1]
        assert store.checkpoint(at_most=4) is None

    def test_a_new_log_has_no_checkpoint(self, store: Store) -> None:
        assert store.checkpoint() is None


class TestStores:
    """All logs of a deployment."""

    def test_a_log_begins_with_its_first_entry(self, stores: Stores) -> None:
        stores.log(OTHER)
        assert list(stores.logs()) == []

        stores.log(ROOT).append(Head(), created(1))

        assert list(stores.logs()) == [ROOT]

    def test_logs_do_not_affect_each_other(self, stores: Stores) -> None:
        one, other = stores.log(ROOT), stores.log(OTHER)
        theirs = Pointer(ResourceId("t9"), "file:///w/9")
        one.append(Head(), created(1))
        other.append(Head(), replace(created(1), pointers=(theirs,)))
        one.append(one.head(), deleted(1))
        one.put_document(DocumentPut("table", "t1", None))
        one.put_checkpoint(Checkpoint(1, 0.0, b"one"))

        assert (one.head().revision, other.head().revision) == (2, 1)
        assert (one.pointer(T1), other.pointer(T1), other.pointer(theirs.table)) == (None, None, theirs)
        assert (one.document("table", "t1"), other.document("table", "t1")) == (None, {"comment": "number 1"})
        assert other.checkpoint() is None
        assert [entry.revision for entry in other.entries()] == [1]

    @pytest.mark.parametrize(
        "pointer",
        [
            Pointer(T1, "file:///w/elsewhere/metadata/0.metadata.json"),
            Pointer(ResourceId("t9"), "file:///w/1/metadata/9.metadata.json"),
            Pointer(ResourceId("t9"), "/w//1/metadata/9.metadata.json"),
            Pointer(ResourceId("t9"), "file:/w/1/metadata/9.metadata.json"),
        ],
        ids=["id", "folder", "path", "scheme"],
    )
    def test_a_table_of_another_log_keeps_its_id_and_its_files(self, stores: Stores, pointer: Pointer) -> None:
        one, other = stores.log(ROOT), stores.log(OTHER)
        one.append(Head(), replace(created(1), pointers=(Pointer(T1, "file:///w/1/metadata/0.metadata.json"),)))

        with pytest.raises(PointerConflictError):
            other.append(Head(), replace(created(1), pointers=(pointer,)))

        assert other.head().revision == 0
        one.append(one.head(), deleted(1))
        assert other.append(Head(), replace(created(1), pointers=(pointer,))).revision == 1

    def test_one_of_several_logs_gets_a_folder_that_all_ask_for_at_once(self, stores: Stores) -> None:
        def ask(number: int) -> bool:
            log = stores.log(ResourceId(f"log{number}"))
            pointer = Pointer(ResourceId(f"t{number}"), "file:///w/1/metadata/0.metadata.json")
            try:
                log.append(Head(), replace(created(1), pointers=(pointer,)))
            except PointerConflictError:
                return False
            return True

        with ThreadPoolExecutor(8 if isinstance(stores, SqlStores) else 1) as threads:
            assert sum(threads.map(ask, range(8))) == 1

    def test_logs_with_other_entries_at_one_revision_have_other_heads(self, stores: Stores) -> None:
        for root, number in ((ROOT, 1), (OTHER, 2)):
            stores.log(root).append(Head(), created(number))

        assert len(set(stores.heads([ROOT, OTHER]).values())) == 2

    def test_the_newest_revisions_come_in_one_read(self, stores: Stores) -> None:
        for number in range(3):
            stores.log(ROOT).append(stores.log(ROOT).head(), created(number))

        assert stores.heads([ROOT, OTHER]) == {ROOT: stores.log(ROOT).head(), OTHER: Head()}
        assert stores.log(ROOT).head().revision == 3
        assert stores.heads([]) == {}

    def test_a_document_is_found_in_any_log(self, stores: Stores) -> None:
        stores.log(ROOT).put_document(DocumentPut("token", "a", {"of": "u1"}))
        stores.log(OTHER).put_document(DocumentPut("token", "b", {"of": "u2"}))

        assert stores.find("token", "b") == (OTHER, {"of": "u2"})
        assert stores.find("run", "b") is None


def _asked(wanted: AuditFilter) -> str:
    return "-".join(f"{name}={value}" for name, value in asdict(wanted).items() if value is not None)


class TestAudit:
    """The audit: recorded questions with their callers and answers."""

    DENIED = AuditRecord(
        at=10.0,
        principal=ANNA,
        action="table.select",
        resource="t1",
        allowed=False,
        revision=7,
        model="nekt",
        code="no_role",
        origin=RequestOrigin("api", "r1", TokenId("k")),
    )
    ALLOWED = replace(DENIED, at=20.0, principal=BEN, resource="t2", allowed=True, code="", origin=RequestOrigin())
    NOBODY = replace(ALLOWED, at=30.0, principal=None, action="", resource="", allowed=False, code="unauthenticated")

    @pytest.fixture
    def audited(self, stores: Stores) -> Stores:
        stores.audit([(ROOT, self.DENIED), (OTHER, self.ALLOWED), (ROOT, self.ALLOWED)])
        stores.audit([])
        stores.audit([(ROOT, self.NOBODY)])
        return stores

    def test_audit_records_come_newest_first_and_of_one_log_only(self, audited: Stores) -> None:
        found = audited.audit_records(ROOT, AuditFilter())

        assert [record for _, record in found] == [self.NOBODY, self.ALLOWED, self.DENIED]
        assert [number for number, _ in found] == sorted((number for number, _ in found), reverse=True)

    def test_audit_records_come_in_pages(self, audited: Stores) -> None:
        first = audited.audit_records(ROOT, AuditFilter(), limit=2)
        rest = audited.audit_records(ROOT, AuditFilter(), before=first[-1][0], limit=2)

        assert [record for _, record in (*first, *rest)] == [self.NOBODY, self.ALLOWED, self.DENIED]

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (AuditFilter(principal=ANNA), [DENIED]),
            (AuditFilter(action="table.select"), [ALLOWED, DENIED]),
            (AuditFilter(resource="t2"), [ALLOWED]),
            (AuditFilter(resource=("t2", "lake.raw.t2")), [ALLOWED]),
            (AuditFilter(resource=("lake.raw.t2",)), []),
            (AuditFilter(allowed=False), [NOBODY, DENIED]),
            (AuditFilter(allowed=True), [ALLOWED]),
            (AuditFilter(door="api"), [DENIED]),
            (AuditFilter(request="r1"), [DENIED]),
            (AuditFilter(since=20.0), [NOBODY, ALLOWED]),
            (AuditFilter(until=20.0), [DENIED]),
            (AuditFilter(principal=ANNA, allowed=True), []),
        ],
        ids=lambda value: _asked(value) if isinstance(value, AuditFilter) else "",
    )
    def test_audit_records_can_be_filtered(
        self, audited: Stores, wanted: AuditFilter, found: list[AuditRecord]
    ) -> None:
        assert [record for _, record in audited.audit_records(ROOT, wanted)] == found

    def test_an_audit_record_can_have_any_resource_name(self, stores: Stores) -> None:
        for resource in ("a\0b", "\ud800", "'; DROP TABLE audit; --"):
            stores.audit([(ROOT, replace(self.DENIED, resource=resource))])

            assert len(stores.audit_records(ROOT, AuditFilter(resource=resource))) == 1
