"""A log that loses its newest entries under a running server: no decision or write uses the lost entries."""

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from headgate.control import control as controls
from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.control import Control
from headgate.control.identity.directory import Directory
from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ports import DocumentPut, LogEntry, LogWrite, StoreError
from headgate.control.kernel.replay import ForkError
from headgate.control.models.library import FixedModels, ModelLibrary
from headgate.control.models.shipped_models import shipped_model
from headgate.control.organizations.organization import Organizations
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import ModelUpgraded, PrincipalAdded
from headgate.facts.ids import PrincipalId, ResourceId
from tests.fakes.small_organization import (
    FLIGHTS,
    MEMBER,
    MODELS,
    NOW,
    OTHER,
    OWNER,
    PEOPLE,
    RAW,
    ROOT,
    SALARIES,
    SECRET,
    THINGS,
    assigned,
    controlled,
)
from tests.fakes.store import FakeStore, FakeStores, StuckStore

SEES = Question(Caller(MEMBER), "table.select", FLIGHTS)
LATER = NOW + 61.0


def _given() -> tuple[Control, FakeStore]:
    """Return a control that has read a role assignment in a second entry."""
    control, store = controlled()
    control.execute(AssignRole(MEMBER, "viewer", RAW), Caller(OWNER))
    assert control.ask(SEES).allowed
    return control, store


def _elsewhere(store: FakeStore) -> Control:
    """Return another replica on the same store."""
    return Control(store, FixedModels(MODELS), lambda: NOW)


class TestALostEntry:
    def test_a_lost_entry_allows_nothing_after_the_log_is_read_again(self) -> None:
        control, store = _given()
        store.log.pop()

        control.catch_up(store.head())

        assert not control.ask(SEES).allowed
        assert control.snapshot.revision == 1

    def test_a_write_after_a_lost_entry_is_decided_again_on_the_remaining_log(self) -> None:
        control, store = _given()
        store.log.pop()

        after = control.execute(AssignRole(OTHER, "viewer", SECRET), Caller(OWNER)).facts

        assert after.revision == store.head().revision == 2
        assert not control.ask(SEES).allowed
        assert control.ask(Question(Caller(OTHER), "table.select", SALARIES)).allowed

    def test_a_right_of_a_lost_entry_allows_no_write(self) -> None:
        control, store = controlled()
        control.execute(AssignRole(MEMBER, "manager", RAW), Caller(OWNER))
        store.log.pop()

        with pytest.raises(CommandError):
            control.execute(AssignRole(OTHER, "viewer", RAW), Caller(MEMBER))

        assert store.head().revision == 1

    def test_a_revoke_that_replaced_a_lost_entry_takes_effect(self) -> None:
        control, store = controlled(assigned(MEMBER, "viewer", RAW))
        control.execute(AssignRole(OTHER, "viewer", RAW), Caller(OWNER))
        store.log.pop()

        _elsewhere(store).execute(RevokeRole(MEMBER, "viewer", RAW), Caller(OWNER))
        assert store.head().revision == control.snapshot.revision
        control.catch_up(store.head())

        assert not control.ask(SEES).allowed

    def test_a_revoke_that_replaced_a_lost_entry_takes_effect_after_later_entries(self) -> None:
        control, store = controlled(assigned(MEMBER, "viewer", RAW))
        control.execute(AssignRole(OTHER, "viewer", RAW), Caller(OWNER))
        store.log.pop()

        elsewhere = _elsewhere(store)
        elsewhere.execute(RevokeRole(MEMBER, "viewer", RAW), Caller(OWNER))
        elsewhere.execute(AssignRole(OTHER, "viewer", SECRET), Caller(OWNER))
        control.catch_up()

        assert control.snapshot == elsewhere.snapshot

    def test_a_lost_entry_is_logged_with_both_revisions(self, caplog: pytest.LogCaptureFixture) -> None:
        control, store = _given()
        store.log.pop()

        with caplog.at_level(logging.WARNING):
            control.catch_up()

        [record] = caplog.records
        assert record.levelno == logging.WARNING
        assert f"`{ROOT}` has lost acknowledged entries: this process knew revision 2" in record.getMessage()
        assert "the store is revision 1" in record.getMessage()

    def test_a_past_answer_is_not_given_from_a_lost_entry(self) -> None:
        control, store = _given()
        assert control.past(2).answers.check(SEES, NOW).allowed
        store.log.pop()
        _elsewhere(store).execute(AssignRole(OTHER, "viewer", RAW), Caller(OWNER))

        control.catch_up()

        assert not control.past(2).answers.check(SEES, NOW).allowed

    def test_no_checkpoint_is_written_of_a_lost_entry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(controls, "CHECKPOINT_EVERY", 1)
        control, store = _given()
        store.log.pop()
        _elsewhere(store).execute(AssignRole(OTHER, "viewer", RAW), Caller(OWNER))

        control.write_checkpoint()

        assert store.kept == []

    def test_no_name_is_found_by_a_lost_entry(self) -> None:
        control, store = controlled()
        directory, ann = Directory(control, store), PrincipalId("ann")
        store.append(
            store.head(),
            LogWrite(
                NOW, None, "add", (PrincipalAdded(ann, "user"),), (DocumentPut("principal", ann, {"name": "Ann"}),)
            ),
        )
        control.catch_up()
        assert directory.find("Ann") == ann

        store.log.pop()
        store.put_document(DocumentPut("principal", ann, {"name": "Anna"}))
        store.write(PrincipalAdded(ann, "user"))
        control.catch_up()

        assert directory.find("Ann") is None
        assert directory.find("Anna") == ann

    def test_a_lost_entry_changes_the_position(self) -> None:
        control, store = _given()
        before = control.position
        store.log.pop()
        control.catch_up()

        assert control.position != before
        assert control.is_at(store.head())


class TestALogThatCannotBeRead:
    def test_questions_are_refused_until_the_log_can_be_read_again(self) -> None:
        now = [NOW]
        store = FakeStore()
        store.write(*PEOPLE, *THINGS)
        control = Control(store, FixedModels(MODELS), lambda: now[0])
        [entry] = store.log
        store.log = [replace(entry, hash="another"), replace(entry, revision=2, previous_hash="neither")]

        for _ in range(2):
            with pytest.raises(StoreError, match="does not follow"):
                control.catch_up()
            with pytest.raises(StoreError, match="cannot be read"):
                control.ask(SEES)
            with pytest.raises(StoreError, match="cannot be read"):
                control.execute(AssignRole(MEMBER, "viewer", RAW), None)
            assert control.is_refused

        store.log, now[0] = [entry], LATER
        control.catch_up()
        assert not control.ask(SEES).allowed

    def test_a_log_that_could_not_be_read_for_a_moment_is_read_at_the_next_question(self) -> None:
        control, store = _given()
        store.log.pop()
        entries, store.entries = store.entries, _unusable

        with pytest.raises(StoreError, match="gone"):
            control.catch_up()
        assert control.is_refused

        store.entries = entries
        control.catch_up(store.head())
        assert not control.ask(SEES).allowed

    def test_a_log_with_an_entry_that_does_not_follow_is_not_opened(self) -> None:
        _, store = _given()
        del store.log[0]

        with pytest.raises(ForkError, match="revision 2 of the organization's log does not follow"):
            _elsewhere(store)

    def test_a_log_with_a_version_of_a_model_that_is_not_stored_is_refused(self) -> None:
        stores = FakeStores()
        store = stores.log(ROOT)
        store.put_document(shipped_model("nekt").document)
        store.write(*PEOPLE, *THINGS)
        control = Control(store, ModelLibrary(stores), lambda: NOW)
        store.write(ModelUpgraded("nekt", "another"))

        with pytest.raises(
            StoreError, match="uses a version of the access model `nekt` that this deployment does not have"
        ):
            control.catch_up()
        assert control.is_refused


def _unusable(after: int = 0) -> Iterator[LogEntry]:
    raise StoreError(f"the store is gone {after}")


def test_a_write_that_the_store_never_accepts_ends_with_an_error() -> None:
    store = StuckStore()
    store.write(*PEOPLE, *THINGS)
    control = _elsewhere(store)

    with pytest.raises(StoreError, match="headgate log verify"):
        control.execute(AssignRole(MEMBER, "viewer", RAW), Caller(OWNER))

    assert not control.is_refused
    assert control.counts.appends == 0


class TestTheOrganizations:
    def _two(self) -> tuple[Organizations, FakeStores, ResourceId]:
        stores, beta = FakeStores(shared=True), ResourceId("beta")
        for root in (ROOT, beta):
            stores.log(root).write(*PEOPLE, *THINGS)
        organizations = Organizations(stores, FixedModels(MODELS), lambda: NOW)
        for root in (ROOT, beta):
            organizations.open(root)
        return organizations, stores, beta

    def test_organizations_stay_available_beside_one_with_an_unreadable_log(self) -> None:
        organizations, stores, beta = self._two()
        stores.log(beta).entries = _unusable
        for root in (ROOT, beta):
            stores.log(root).write(assigned(MEMBER, "viewer", RAW))

        organizations.refresh()

        assert organizations.open(ROOT).control.ask(SEES).allowed
        assert [each.id for each in organizations.readable()] == [ROOT]
        assert organizations.if_open(beta) is None
        assert organizations.is_stale()
        with pytest.raises(StoreError, match="gone"):
            organizations.open(beta)
        organizations.keep()

    def test_organizations_are_stale_after_an_entry_was_replaced(self) -> None:
        organizations, stores, beta = self._two()
        stores.log(beta).write(assigned(MEMBER, "viewer", RAW))
        organizations.refresh()
        assert not organizations.is_stale()

        stores.log(beta).log.pop()
        stores.log(beta).write(assigned(OTHER, "viewer", RAW))

        assert organizations.is_stale()
        organizations.refresh()
        assert not organizations.is_stale()
        assert not organizations.open(beta).control.ask(SEES).allowed
