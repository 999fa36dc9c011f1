"""Group commit: commands that wait together share a transaction, and have the effects that they would have one by one."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.command_writer import MAX_GROUP, WriteResult
from headgate.control.control import Control
from headgate.control.identity.tokens import IssueToken, RevokeToken
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import CallerGoneError
from headgate.control.kernel.metadata import CommandMetadata, CommandOutcome
from headgate.control.kernel.ports import (
    DocumentConflictError,
    DocumentPut,
    Head,
    LogWrite,
    StoreError,
)
from headgate.control.models.library import FixedModels
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, TokenId
from tests.fakes.small_organization import (
    ADMIN,
    FLIGHTS,
    MEMBER,
    MODELS,
    NOW,
    OTHER,
    OWNER,
    PEOPLE,
    RAW,
    ROOT,
    STRANGER,
    THINGS,
    assigned,
)
from tests.fakes.store import FakeStore, StuckStore

Outcome = str | int
GRANT = AssignRole(MEMBER, "viewer", RAW)


class _Recording(FakeStore):
    """Records the number of entries of each transaction, and refuses transactions while it is `full`."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.full = False

    @override
    def append(self, expected: Head, *drafts: LogWrite) -> Head:
        if self.full:
            raise StoreError("the disk is full")
        head = super().append(expected, *drafts)
        self.sizes.append(len(drafts))
        return head


def _controlled() -> tuple[Control, _Recording]:
    store = _Recording()
    store.write(*PEOPLE, *THINGS)
    store.sizes.clear()
    return Control(store, FixedModels(MODELS), lambda: NOW), store


def _submit(
    control: Control, *commands: tuple[Command, PrincipalId | Caller], call: CommandMetadata | None = None
) -> list[Future[WriteResult]]:
    """Let commands wait together, and write them."""
    results = [
        control.submit(command, each if isinstance(each, Caller) else Caller(each), call or CommandMetadata())
        for command, each in commands
    ]
    return _write_all(control, results)


def _write_all(control: Control, results: list[Future[WriteResult]]) -> list[Future[WriteResult]]:
    while not all(each.done() for each in results):
        control.write_submitted()
    return results


def test_commands_that_wait_together_share_a_transaction() -> None:
    control, store = _controlled()

    results = _submit(control, (GRANT, OWNER), (AssignRole(OTHER, "viewer", RAW), OWNER))

    assert store.sizes == [2]
    assert [each.result().facts.revision for each in results] == [2, 3]
    assert [entry.previous_hash for entry in store.log[1:]] == [entry.hash for entry in store.log[:-1]]
    assert control.snapshot.revision == 3


def test_a_refusal_in_a_group_refuses_one_command_only() -> None:
    control, store = _controlled()

    results = _submit(control, (GRANT, OWNER), (AssignRole(STRANGER, "viewer", RAW), MEMBER), (GRANT, ADMIN))

    assert isinstance(results[1].exception(), PermissionDeniedError)
    assert [each.result().facts.revision for each in (results[0], results[2])] == [2, 3]
    assert store.sizes == [2]
    assert control.counts.denied == 1


def test_a_command_is_decided_on_the_facts_after_those_before_it() -> None:
    control, _ = _controlled()

    results = _submit(
        control,
        (AssignRole(STRANGER, "viewer", RAW), MEMBER),
        (AssignRole(MEMBER, "manager", RAW), OWNER),
        (AssignRole(OTHER, "viewer", RAW), MEMBER),
        (RevokeRole(MEMBER, "manager", RAW), OWNER),
        (AssignRole(OTHER, "viewer", FLIGHTS), MEMBER),
    )

    assert [each.exception() is None for each in results] == [False, True, True, True, False]


def test_a_token_that_is_revoked_in_a_group_allows_no_later_command_of_the_group() -> None:
    control, _ = _controlled()
    token = TokenId("t")
    control.execute(IssueToken(token, "secret", OWNER), None)
    caller = Caller(OWNER, token)

    before, _, after = _submit(control, (GRANT, caller), (RevokeToken(token), OWNER), (GRANT, caller))

    assert before.exception() is None
    assert isinstance(after.exception(), CallerGoneError)


def test_a_group_that_loses_a_race_is_decided_again_on_the_newest_facts() -> None:
    control, store = _controlled()
    store.before_append = lambda: store.write(assigned(MEMBER, "manager", RAW))

    results = _submit(control, (GRANT, OWNER), (AssignRole(OTHER, "viewer", RAW), MEMBER))

    assert [each.result().facts.revision for each in results] == [3, 4]
    assert control.counts.conflicts == 1


def test_a_group_that_cannot_be_written_has_no_effect() -> None:
    control, store = _controlled()
    store.full = True

    results = _submit(control, (GRANT, OWNER), (AssignRole(MEMBER, "viewer", FLIGHTS), OWNER))

    assert [str(each.exception()) for each in results] == ["the disk is full"] * 2
    assert control.snapshot.revision == 1
    store.full = False
    assert _submit(control, (GRANT, OWNER))[0].result().facts.revision == 2


def test_an_entry_that_cannot_be_stored_fails_one_command_only() -> None:
    class Choosy(_Recording):
        @override
        def append(self, expected: Head, *drafts: LogWrite) -> Head:
            if any(draft.command != "elsewhere" and "bad" in str(draft.changes) for draft in drafts):
                raise ValueError("it cannot be encoded")
            return super().append(expected, *drafts)

    store = Choosy()
    store.write(*PEOPLE, *THINGS)
    control = Control(store, FixedModels(MODELS), lambda: NOW)
    bad = replace(GRANT, reason="bad")

    results = _submit(
        control,
        (GRANT, OWNER),
        (AssignRole(STRANGER, "viewer", RAW), MEMBER),
        (bad, OWNER),
        (GRANT, ADMIN),
        (bad, ADMIN),
    )

    assert [type(each.exception()) for each in results] == [
        type(None),
        PermissionDeniedError,
        ValueError,
        type(None),
        ValueError,
    ]


def test_a_group_becomes_smaller_as_long_as_it_loses_races() -> None:
    store = _Racing()
    store.write(*PEOPLE, *THINGS)
    store.sizes.clear()
    control = Control(store, FixedModels(MODELS), lambda: NOW)

    results = _submit(control, *[(GRANT, OWNER)] * 8)

    assert all(each.exception() is None for each in results)
    assert store.sizes[0] <= 2


class _Racing(_Recording):
    """Another process writes before each transaction of more than two entries."""

    @override
    def append(self, expected: Head, *drafts: LogWrite) -> Head:
        if len(drafts) > 2:
            self.write(assigned(STRANGER, "member", ROOT))
            self.sizes.pop()
        return super().append(expected, *drafts)


def test_a_refusal_that_rests_on_an_unwritten_change_is_not_reported() -> None:
    control, store = _controlled()
    control.execute(GRANT, Caller(OWNER))
    store.full = True

    revoked, again = _submit(control, *[(RevokeRole(MEMBER, "viewer", RAW), OWNER)] * 2)

    assert isinstance(revoked.exception(), StoreError)
    assert isinstance(again.exception(), StoreError)  # not `NotFoundError`: the assignment is still there


def test_a_command_with_a_document_is_alone_in_its_transaction() -> None:
    control, store = _controlled()

    def put(_: CommandOutcome) -> Sequence[DocumentPut]:
        return (DocumentPut("answer", "key", {}, new=True),)

    grants = [(AssignRole(each, "viewer", RAW), Caller(OWNER)) for each in (MEMBER, OTHER, MEMBER, OTHER)]
    calls = [CommandMetadata(), CommandMetadata(keeps=put), CommandMetadata(keeps=put), CommandMetadata()]
    results = _write_all(control, [control.submit(*each, call) for each, call in zip(grants, calls, strict=True)])

    assert isinstance(results[2].exception(), DocumentConflictError)
    assert [each.exception() is None for each in results] == [True, True, False, True]
    assert store.sizes == [1, 1, 1]
    assert store.bodies["answer", "key"] == {}


def test_each_command_of_a_group_stores_its_own_reason() -> None:
    control, store = _controlled()

    results = _submit(control, (GRANT, OWNER), (GRANT, ADMIN), call=CommandMetadata(why="audit"))

    assert [store.bodies["why", str(revision)] for revision in (2, 3)] == [{"text": "audit"}] * 2
    assert [each.result().facts.revision for each in results] == [2, 3]


def test_an_unknown_error_of_a_command_reaches_its_caller_only() -> None:
    control, _ = _controlled()

    results = _submit(control, (GRANT, OWNER), (replace(GRANT, name="no.operation"), OWNER))

    assert results[0].exception() is None
    assert isinstance(results[1].exception(), KeyError)


def test_a_group_has_a_maximum_size() -> None:
    control, store = _controlled()

    _submit(control, *[(GRANT, OWNER)] * (MAX_GROUP + 1))

    assert store.sizes == [MAX_GROUP, 1]


def test_a_store_that_refuses_every_entry_ends_each_command_with_an_error() -> None:
    store = StuckStore()
    store.write(*PEOPLE, *THINGS)
    results = _submit(Control(store, FixedModels(MODELS), lambda: NOW), (GRANT, OWNER), (GRANT, OWNER))

    assert all("accepts no entry" in str(each.exception()) for each in results)


_PEOPLE = st.sampled_from((OWNER, ADMIN, MEMBER, OTHER))
_ROLES = st.sampled_from((("owner", ROOT), ("admin", ROOT), ("manager", RAW), ("viewer", RAW), ("editor", FLIGHTS)))


@st.composite
def _commands(draw: st.DrawFn) -> tuple[Command, PrincipalId]:
    subject, (role, place), caller = draw(_PEOPLE), draw(_ROLES), draw(_PEOPLE)
    kind = draw(st.sampled_from((AssignRole, RevokeRole)))
    return kind(subject, role, place), caller


@given(st.lists(_commands(), max_size=12))
def test_a_group_has_the_outcomes_and_the_log_of_single_commands(commands: list[tuple[Command, PrincipalId]]) -> None:
    together, store = _controlled()
    single, reference = _controlled()

    outcomes = [_describe(each) for each in _submit(together, *commands)]

    assert outcomes == [_describe(_submit(single, each)[0]) for each in commands]
    assert store.log == reference.log
    assert together.snapshot == single.snapshot


def _describe(result: Future[WriteResult]) -> Outcome:
    error = result.exception()
    return result.result().facts.revision if error is None else f"{type(error).__name__}: {error}"
