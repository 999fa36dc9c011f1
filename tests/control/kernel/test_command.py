"""Refused and accepted commands. Each row has the caller, the command and the error."""

import pytest

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.catalog.tables import DropTable
from headgate.control.kernel.command import Command
from headgate.control.kernel.errors import (
    CommandError,
    InvalidError,
    NotFoundError,
)
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    Change,
    Edge,
    ResourceDeleted,
)
from headgate.facts.ids import PrincipalId, ResourceId
from tests.control.kernel.command_cases import (
    ADMINS_RUN,
    ALLOWED,
    AS_RUN,
    EDITOR,
    NEW,
    REFUSALS,
    new_pipeline,
    new_table,
)
from tests.fakes.small_organization import (
    DELAYS_RELATIONS,
    FLIGHTS,
    LOAD,
    MEMBER,
    OWNER,
    PLANES,
    RAW,
    SALARIES,
    assigned,
    controlled,
)


@pytest.mark.parametrize(("given", "who", "command", "error"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refused_command_writes_nothing(
    given: tuple[Change, ...], who: Caller | PrincipalId | None, command: Command, error: type[CommandError]
) -> None:
    control, store = controlled(*given)
    caller = Caller(PrincipalId(who)) if isinstance(who, str) else who

    with pytest.raises(CommandError) as refusal:
        control.execute(command, caller)
    assert type(refusal.value) is error, refusal.value
    assert store.head().revision == 1
    assert store.bodies == {}
    assert control.snapshot.revision == 1


@pytest.mark.parametrize(("given", "who", "command"), ALLOWED.values(), ids=ALLOWED.keys())
def test_an_accepted_command_is_written_at_the_next_revision(
    given: tuple[Change, ...], who: Caller | PrincipalId | None, command: Command
) -> None:
    control, store = controlled(*given)
    caller = Caller(PrincipalId(who)) if isinstance(who, str) else who

    assert control.execute(command, caller).facts.revision == store.head().revision == 2
    assert store.log[-1].command == command.name
    assert store.log[-1].actor == (caller.principal if caller else None)


@pytest.mark.parametrize("name", ["", " ", "a.b", "a/b", "..", "a*", "`a`", "a ", "a\n", "\u202ea", "x" * 256])
def test_a_name_that_readers_could_mistake_is_refused(name: str) -> None:
    control, _ = controlled()

    with pytest.raises(InvalidError, match="cannot be a name"):
        control.execute(new_table(name), Caller(OWNER))


def test_a_hidden_and_a_missing_id_are_refused_in_the_same_words() -> None:
    control, _ = controlled(EDITOR)
    texts: list[str] = []
    for id in (SALARIES, ResourceId("missing")):
        with pytest.raises(NotFoundError) as refusal:
            control.execute(DropTable(id), Caller(MEMBER))
        texts.append(str(refusal.value).replace(id, "it"))

    assert texts[0] == texts[1]
    assert texts[0].startswith("there is no `it` that you may see; ")


def test_a_run_recreates_its_declared_table_and_the_pipeline_outputs_it() -> None:
    control, _ = controlled(ADMINS_RUN, ResourceDeleted(FLIGHTS))

    after = control.execute(new_table("flights"), AS_RUN).facts
    assert [edge.target for edge in after.resources[LOAD].edges("outputs")] == [PLANES, NEW]


def test_recreating_one_of_two_deleted_tables_does_not_open_the_pipeline() -> None:
    control, _ = controlled(
        ADMINS_RUN, ResourceDeleted(FLIGHTS), ResourceDeleted(PLANES), assigned(MEMBER, "viewer", ResourceId("files"))
    )
    other = ResourceId("other-new")

    control.execute(new_table("flights"), AS_RUN)
    control.execute(AssignRole(MEMBER, "viewer", NEW), Caller(OWNER))
    assert not control.is_visible(Caller(MEMBER), LOAD)
    after = control.execute(new_table("planes", id=other), AS_RUN).facts
    assert [edge.target for edge in after.resources[LOAD].edges("outputs")] == [NEW, other]


def test_edges_that_share_a_target_count_if_one_is_enabled() -> None:
    both = {**DELAYS_RELATIONS, "inputs": (Edge(FLIGHTS, enabled=False), Edge(FLIGHTS))}
    control, _ = controlled(EDITOR)

    control.execute(new_pipeline(both), Caller(MEMBER))
    control.execute(RevokeRole(MEMBER, "editor", RAW), Caller(OWNER))
    assert not control.is_visible(Caller(MEMBER), NEW)
