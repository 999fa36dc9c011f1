"""Promise 12 of docs/semantics.md, about the log. Each docstring is a heading there."""

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.control.control import Control
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.deployment.erasure import erase_person, personal_documents
from headgate.control.identity.principals import AddPrincipal, RemovePrincipal
from headgate.control.kernel.metadata import CommandMetadata
from headgate.control.kernel.ports import (
    Checkpoint,
    DocumentPut,
    Head,
    LogEntry,
    LogWrite,
    Pointer,
    PointerConflictError,
    PointerMove,
    RevisionConflictError,
    StoreError,
)
from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organizations
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts import checkpoint
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.store import SqlStore, SqlStores, open_stores
from headgate.store.log_rows import row_of
from headgate.store.seal_keys import KnownKeys, SealKey
from headgate.store.seals import Seal
from headgate.store.verification import VerificationResult, ignore_progress, verify_store
from tests.control.organization_harness import ANN, BEN, FOUNDER, MODELS
from tests.store.samples import ROOT, any_model, anywhere, created, deleted

NOTHING = LogWrite(0.0, None, "nothing", ())
TABLE = ResourceId("t1")

Step = Callable[[SqlStore], None]


def _appended(store: SqlStore, draft: LogWrite, expected: Head) -> None:
    with contextlib.suppress(RevisionConflictError, PointerConflictError):
        store.append(expected, draft)


def _moved(store: SqlStore) -> None:
    with contextlib.suppress(PointerConflictError):
        store.swap_pointers([PointerMove(store.pointer(TABLE) or Pointer(TABLE, "nowhere"), "file:///w/next")])


STEPS: dict[str, Step] = {
    "append": lambda store: _appended(store, created(store.head().revision), store.head()),
    "append late": lambda store: _appended(store, created(0), Head()),
    "append what is there": lambda store: _appended(store, created(1), store.head()),
    "delete": lambda store: _appended(store, deleted(1), store.head()),
    "write a document": lambda store: store.put_document(DocumentPut("table", "t1", {"comment": "another"})),
    "erase a document": lambda store: store.put_document(DocumentPut("table", "t1", None)),
    "keep a checkpoint": lambda store: store.put_checkpoint(Checkpoint(store.head().revision, 0.0, b"other facts")),
    "move a pointer": _moved,
}


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=12))
def test_promise_12_entries_stay(steps: list[str]) -> None:
    """No operation of the store changes, moves or deletes an existing entry."""
    with contextlib.closing(open_stores(":memory:")) as stores:
        store, before = stores.log(ROOT), list[LogEntry]()
        for step in steps:
            STEPS[step](store)
            after = list(store.entries())
            assert after[: len(before)] == before
            before = after
        store.verify()


COLUMNS = ("log_id", "revision", "at", "actor", "command", "changes", "origin", "grounds", "previous_hash", "hash")
SOMETHING = st.one_of(st.none(), st.text(max_size=5), st.integers(0, 9), st.floats(0, 9), st.sampled_from(["[]", "{}"]))


def _rows(many: int) -> list[Any]:
    """Return the rows of a log."""
    with contextlib.closing(open_stores(":memory:")) as stores:
        for number in range(many):
            stores.log(ROOT).append(stores.log(ROOT).head(), created(number))
        return [SimpleNamespace(**row._mapping) for row in stores.log(ROOT).rows()]


ROWS = _rows(5)


@settings(deadline=None)
@example(at=0, column="at", value="0")
@given(at=st.integers(0, 4), column=st.sampled_from(COLUMNS), value=SOMETHING)
def test_promise_12_an_altered_entry_shows(at: int, column: str, value: object) -> None:
    """An altered, removed or inserted entry is detected, with its revision."""
    before, row, after = ROWS[:at], ROWS[at], ROWS[at + 1 :]
    if getattr(row, column) != value:
        _shows(at + 1, [*before, SimpleNamespace(**vars(row) | {column: value}), *after])
    if after:
        _shows(at + 1, [*before, *after])
    _shows(at + 2, [*before, row, row, *after])


def _shows(revision: int, rows: list[Any]) -> None:
    with pytest.raises(StoreError, match=f"revision {revision} of the log"):
        verify_store(ROOT, rows, (), None, ignore_progress)


@settings(deadline=None, max_examples=25)
@given(length=st.integers(2, 8), kept=st.integers(1, 7))
def test_promise_12_a_tail_that_was_cut_or_rewritten_shows(length: int, kept: int) -> None:
    """A truncated or rewritten tail, even with valid hashes, is detected by a seal, also by one that is stored elsewhere."""
    key = SealKey(Ed25519PrivateKey.generate())
    known = KnownKeys({key.fingerprint: key.private.public_key()})
    rows = _rows(length)
    seal = Seal.of(rows[-1], key)
    anew = rows[: min(kept, length - 1)]
    while len(anew) < length:
        anew.append(SimpleNamespace(**row_of(ROOT, len(anew) + 1, NOTHING, anew[-1].hash)))

    assert verify_store(ROOT, rows, [seal], known, ignore_progress) == VerificationResult(ROOT, length, length)
    assert verify_store(ROOT, anew, (), known, ignore_progress) == VerificationResult(ROOT, length, 0), (
        "the chain alone does not show it"
    )
    for broken in (rows[: min(kept, length - 1)], anew):
        with pytest.raises(
            StoreError, match=r"was deleted: it ends at revision \d+, but a seal|differs from the entry that was sealed"
        ):
            verify_store(ROOT, broken, [seal], known, ignore_progress)


@contextlib.contextmanager
def _organizations() -> Iterator[Organizations]:
    """An organization with a user who joined, did something, and left."""
    with contextlib.closing(open_stores(":memory:")) as stores:
        organizations = open_organizations(stores, lambda: 1_000.0, "nekt")
        control = create_organization(
            organizations, OrganizationSpec(ROOT, "Acme", FOUNDER, "The Founder", "nekt")
        ).control
        control.execute(AddPrincipal(ANN, "Dr. Ann", "admin"), Caller(FOUNDER))
        control.execute(
            AddPrincipal(BEN, "Mr. Ben", "member"), Caller(ANN), CommandMetadata(why="the doctor knows him")
        )
        control.execute(RemovePrincipal(BEN), Caller(ANN))
        yield organizations


def _answers(control: Control) -> list[object]:
    """Return for each revision which principals may add users: each decision with its reasons."""
    asked = [Question(Caller(each), "organization.manage_users", ROOT) for each in (FOUNDER, ANN, BEN)]
    pasts = [control.as_of(revision) for revision in range(1, control.snapshot.revision + 1)]
    return [decide(control.models, facts, each, control.now) for facts in pasts for each in asked]


def test_promise_12_every_past_answer_can_be_asked_again() -> None:
    """Every past answer can be asked again, and is the same from a checkpoint and in another deployment that imported the log."""
    with _organizations() as organizations, contextlib.closing(open_stores(":memory:")) as elsewhere:
        control, stores = organizations.open(ROOT).control, organizations.stores
        before = _answers(control)
        for revision in (2, 4):
            entry = stores.log(ROOT).entry(revision)
            assert entry is not None
            stores.log(ROOT).put_checkpoint(
                Checkpoint(revision, entry.at, checkpoint.dump_checkpoint(control.as_of(revision)))
            )

        assert _answers(control) == before
        assert isinstance(stores, SqlStores)
        elsewhere.take(stores.export(ROOT), anywhere, any_model)
        assert _answers(Control(elsewhere.log(ROOT), FixedModels(MODELS), lambda: 1_000.0)) == before


def test_promise_12_a_person_can_be_forgotten() -> None:
    """A person's data can be erased: no document mentions the person, every entry remains, and every log passes verification."""
    with _organizations() as organizations:
        stores = organizations.stores
        assert isinstance(stores, SqlStores)
        entries = list(stores.log(ROOT).entries())

        erase_person(organizations, ANN)

        assert personal_documents(stores.log(ROOT), ANN) == ()
        assert [proof.head for proof in stores.verify()] == [
            stores.log(root).head().revision for root in sorted(stores.logs())
        ]
        assert list(stores.log(ROOT).entries())[: len(entries)] == entries
        assert organizations.open(ROOT).directory.name(ANN) == ANN
