"""The promises of docs/semantics.md about writes. Each docstring is a heading there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.catalog.tables import CreateTable, DropTable, RenameTable
from headgate.control.control import Control
from headgate.control.identity.principals import RemovePrincipal
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, CommandError, NotFoundError
from headgate.control.kernel.ports import Head, LogWrite, Pointer
from headgate.control.models.library import FixedModels
from headgate.control.pipelines.commands import SavePipeline
from headgate.control.questions.hidden_names import NameAuthorizer
from headgate.control.questions.messages import RefusalMessages
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, MemberAdded, ResourceCreated, ResourceDeleted, RoleRevoked, RunStarted
from headgate.facts.ids import PrincipalId, ResourceId, RunId, SubjectId
from tests.fakes.generated_worlds import DATA, DATABASES, PIPELINES, PRINCIPALS, few
from tests.fakes.small_organization import (
    ADMIN,
    CREW,
    DELAYS,
    DELAYS_RELATIONS,
    FLIGHTS,
    LOAD,
    MEMBER,
    MODELS,
    NOW,
    OTHER,
    OWNER,
    PLANES,
    PROJECT,
    RAW,
    ROOT,
    SALARIES,
    assigned,
    controlled,
)
from tests.fakes.store import FakeStore

NEW, RUN = ResourceId("new"), RunId("run")


class Names:
    """A directory in which each subject's name is its id."""

    def name(self, subject: SubjectId) -> str:
        return subject


def _select(control: Control, caller: Caller, table: ResourceId) -> bool:
    return control.ask(Question(caller, "table.select", table)).allowed


@few
@given(st.sampled_from(("viewer", "editor", "manager")), st.sampled_from((RAW, FLIGHTS)), st.booleans())
def test_promise_4_a_revoke_takes_effect_once_it_has_returned(
    role: str,
    place: ResourceId,
    through_group: bool,  # noqa: FBT001
) -> None:
    """Once a revoke has returned, the next question is answered without the assignment, also for a running pipeline."""
    subject: SubjectId = CREW if through_group else MEMBER
    control, store = controlled(assigned(subject, role, place), RunStarted(RUN, DELAYS, MEMBER))
    store.write(*_joined(through_group))
    control = Control(store, FixedModels(MODELS), lambda: NOW)
    assert _select(control, Caller(MEMBER), FLIGHTS)
    assert _select(control, Caller(MEMBER, run=RUN), FLIGHTS)

    control.execute(RevokeRole(subject, role, place), Caller(OWNER))
    assert not _select(control, Caller(MEMBER), FLIGHTS)
    assert not _select(control, Caller(MEMBER, run=RUN), FLIGHTS)


def _joined(through_group: bool) -> tuple[Change, ...]:  # noqa: FBT001
    return (MemberAdded(CREW, MEMBER),) if through_group else ()


class _Losing:
    """Loses one race: another process writes these changes just before the append."""

    def __init__(self, store: FakeStore, *changes: Change) -> None:
        self._store, self._changes = store, changes

    def __call__(self) -> None:
        self._store.write(*self._changes)


def test_promise_6_a_right_that_was_just_revoked_allows_nothing() -> None:
    """If the grantor loses the privilege between the decision and the write, the grant is decided again and refused."""
    control, store = controlled(assigned(MEMBER, "manager", RAW))
    store.before_append = _Losing(store, RoleRevoked(MEMBER, "manager", RAW))

    with pytest.raises(CommandError):
        control.execute(AssignRole(OTHER, "editor", RAW), Caller(MEMBER))
    assert store.head().revision == 2
    assert OTHER not in {each.subject for each in control.snapshot.list_assigned_on(RAW) if each.role == "editor"}


def test_promise_6_a_name_that_was_just_taken_is_refused() -> None:
    """If two commands create the same name at once, one succeeds, the other is refused, and nothing is overwritten."""
    control, store = controlled()
    store.before_append = _Losing(store, ResourceCreated(ResourceId("theirs"), "table", RAW, "new"))

    with pytest.raises(AlreadyExistsError):
        control.execute(CreateTable(RAW, NEW, "new", Pointer(NEW, "file:///w/new")), Caller(OWNER))
    found = control.snapshot.find(("lake", "raw", "new"))
    assert found is not None
    assert found.id == "theirs"
    assert store.at == {}


def test_promise_6_a_write_of_another_process_is_not_overwritten() -> None:
    """A write that is still allowed after a lost race is written after the other one, and both take effect."""
    control, store = controlled()
    store.before_append = _Losing(store, assigned(OTHER, "viewer", RAW))

    after = control.execute(AssignRole(MEMBER, "viewer", RAW), Caller(OWNER)).facts
    assert after.revision == store.head().revision == 3
    assert after.assignments[OTHER]
    assert after.assignments[MEMBER]


def test_promise_9_a_change_that_cannot_be_written_has_no_effect() -> None:
    """If the log cannot be written, the change has no effect on any later decision."""

    class Full(FakeStore):
        @override
        def append(self, expected: Head, *drafts: LogWrite) -> Head:
            if drafts[0].command == "role.assign":
                raise OSError("the disk is full")
            return super().append(expected, *drafts)

    _, held = controlled()
    store = Full()
    store.log = held.log
    control = Control(store, FixedModels(MODELS), lambda: NOW)

    with pytest.raises(OSError, match="full"):
        control.execute(AssignRole(MEMBER, "viewer", RAW), Caller(OWNER))
    assert not _select(control, Caller(MEMBER), FLIGHTS)


def test_promise_7_a_run_creates_the_declared_table_and_no_other() -> None:
    """A run creates only the tables that its pipeline declares, by name and database."""
    control, _ = controlled(RunStarted(RUN, LOAD, ADMIN), ResourceDeleted(FLIGHTS))
    run = Caller(ADMIN, run=RUN)

    with pytest.raises(CommandError):
        control.execute(CreateTable(RAW, NEW, "other", Pointer(NEW, "file:///w/new")), run)
    assert control.execute(CreateTable(RAW, NEW, "flights", Pointer(NEW, "file:///w/new")), run)


def test_promise_7_a_run_stops_when_its_run_as_loses_the_right_or_leaves() -> None:
    """A running pipeline is denied from the moment its run-as principal loses the privilege or leaves."""
    control, _ = controlled(assigned(MEMBER, "editor", RAW), RunStarted(RUN, DELAYS, MEMBER))
    run = Caller(MEMBER, run=RUN)
    writes = Question(run, "table.insert", PLANES)
    assert control.ask(writes).allowed

    control.execute(AssignRole(MEMBER, "viewer", RAW), Caller(OWNER))
    control.execute(RevokeRole(MEMBER, "editor", RAW), Caller(OWNER))
    assert not control.ask(writes).allowed
    assert _select(control, run, FLIGHTS)
    control.execute(RemovePrincipal(MEMBER), Caller(OWNER))
    assert not _select(control, run, FLIGHTS)


def test_promise_7_an_editor_of_a_pipeline_becomes_its_run_as() -> None:
    """The user that changes a pipeline becomes its run-as principal: no user gains another's privileges by editing."""
    control, _ = controlled(assigned(MEMBER, "editor", RAW))

    after = control.execute(SavePipeline(DELAYS, PROJECT, "query", "delays", DELAYS_RELATIONS, {}), Caller(MEMBER))
    assert after.facts.run_as[DELAYS] == MEMBER
    with pytest.raises(PermissionDeniedError):
        control.execute(AssignRole(OTHER, "viewer", RAW), Caller(MEMBER))


def test_promise_5_a_hidden_and_a_missing_name_are_refused_in_the_same_words() -> None:
    """The texts of refusals for a hidden and a missing name differ only in the name."""
    control, _ = controlled(assigned(MEMBER, "viewer", FLIGHTS))
    gate = NameAuthorizer(control, RefusalMessages(Names()))

    for hidden, missing in (
        (("lake", "secret", "salaries"), ("lake", "secret", "missing")),
        (("lake", "secret", "salaries"), ("lake", "missing", "salaries")),
        (("lake", "raw", "planes"), ("lake", "raw", "missing")),
        (("lake", "secret"), ("lake", "missing")),
        (("place",), ("missing",)),
        (("load", "raw", "flights"), ("missing", "raw", "flights")),
    ):
        for action in ("table.select", "database.describe", "table.drop", "connection.use", "unheard"):
            told = [gate.check(Caller(MEMBER), action, names) for names in (hidden, missing)]
            texts = [
                each.message.replace(".".join(names), "it") for each, names in zip(told, (hidden, missing), strict=True)
            ]
            assert texts[0] == texts[1]
            assert [(each.allowed, each.discoverable) for each in told] == [(False, False)] * 2
        assert not gate.discover(Caller(MEMBER), hidden).allowed


def test_promise_5_a_command_on_a_hidden_id_and_on_a_missing_one_are_refused_alike() -> None:
    """A command on a resource id is refused with the same error for a hidden and a missing resource."""
    control, _ = controlled(assigned(MEMBER, "manager", RAW))
    caller = Caller(MEMBER)

    for hidden in (SALARIES, ResourceId("missing")):
        for command in (
            DropTable(hidden),
            RenameTable(hidden, RAW, "mine"),
            AssignRole(MEMBER, "viewer", hidden),
            RevokeRole(MEMBER, "viewer", hidden),
            CreateTable(hidden, NEW, "new", Pointer(NEW, "file:///w/new")),
        ):
            with pytest.raises(NotFoundError, match=f"`{hidden}` that you may see"):
                control.execute(command, caller)


def test_promise_11_a_recreated_table_has_none_of_the_old_assignments() -> None:
    """A table that is dropped and created again under its name has none of the old assignments and edges."""
    control, _ = controlled(assigned(MEMBER, "viewer", FLIGHTS), assigned(MEMBER, "viewer", PLANES))
    assert control.is_visible(Caller(MEMBER), DELAYS)

    control.execute(DropTable(FLIGHTS), Caller(OWNER))
    control.execute(CreateTable(RAW, NEW, "flights", Pointer(NEW, "file:///w/new")), Caller(OWNER))
    assert not _select(control, Caller(MEMBER), NEW)
    assert not control.is_visible(Caller(MEMBER), DELAYS)


@few
@given(st.sampled_from((*DATABASES, *DATA, *PIPELINES)), st.sampled_from(PRINCIPALS))
def test_promise_11_no_id_is_used_twice(taken: ResourceId, who: PrincipalId) -> None:
    """No command creates a resource under an id in use, so that no resource inherits assignments by its id."""
    control, _ = controlled(ResourceCreated(taken, "database", ResourceId("lake"), f"{taken} of before"))

    with pytest.raises(CommandError):
        control.execute(CreateTable(RAW, taken, "new", Pointer(taken, "file:///w/new")), Caller(who))
    with pytest.raises(CommandError):
        control.execute(CreateTable(RAW, ROOT, "new", Pointer(ROOT, "file:///w/new")), Caller(who))
