"""The promises about writes, over commands and models that Hypothesis generates."""

from collections.abc import Callable, Mapping
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from headgate.control.access.assignments import AssignRole, ChangeRole, RevokeRole
from headgate.control.access.roles import DefineRole, DeleteRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.approvals.agreements import (
    AddAccess,
    ApproveAccess,
    DeleteAccess,
    EditAccess,
    RejectAccess,
    TerminateAccess,
)
from headgate.control.identity.groups import ChangeMembership, CreateGroup, DeleteGroup
from headgate.control.identity.principals import AddPrincipal, DeleteServicePrincipal, RemovePrincipal
from headgate.control.identity.tokens import IssueToken
from headgate.control.kernel.command import Command
from headgate.control.kernel.errors import CommandError
from headgate.control.resources.commands import CreateResource, DeleteResource, MoveResource, SetAttributes
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from tests.control.organization_harness import (
    ANN,
    BEN,
    BOT,
    CREW,
    EVE,
    FOUNDER,
    ROOT,
    OrganizationHarness,
    datamesh,
    onehouse,
    request,
    resource,
    role,
)
from tests.fakes.generated_worlds import few

A = ResourceId("a")
ACTORS = (FOUNDER, ANN, BEN)

_DATAMESH: tuple[Command, ...] = (
    role(BEN, "member", "shop"),
    role(EVE, "owner"),
    ChangeRole(BEN, "member", "editor", ResourceId("shop")),
    RevokeRole(ANN, "owner", ResourceId("shop")),
    RevokeRole(FOUNDER, "owner", ROOT),
    request("a", "ops"),
    request("a", BEN),
    AddAccess(A, ResourceId("port"), BEN, "to know", 1_000.0),
    ApproveAccess(A, 1_000.0),
    RejectAccess(A),
    EditAccess(A, 1_000.0, 9_000.0, "to know"),
    TerminateAccess(A),
    DeleteAccess(A),
    SetAttributes(ResourceId("port"), {"auto_approve": ("true",)}),
    resource("more", "data_product", ROOT, owner="shop"),
    resource("more", "team", "shop"),
    MoveResource(ResourceId("shop"), ResourceId("ops")),
    MoveResource(ResourceId("product"), ResourceId("web")),
    DeleteResource(ResourceId("shop")),
    DeleteResource(ResourceId("product")),
    DefineRole("keeper", ("RESOURCES_EDIT",)),
    DeleteRole("keeper"),
    ChangeSetting(ROOT, "role_mode", "custom"),
    AddPrincipal(PrincipalId("new"), "new", "member"),
    RemovePrincipal(ANN),
)
_ONEHOUSE: tuple[Command, ...] = (
    role(BEN, "SELECT", "table"),
    role(CREW, "SELECT", "table"),
    role(EVE, "member", "project"),
    RevokeRole(ANN, "ALL", ResourceId("one")),
    RevokeRole(FOUNDER, "admin", ROOT),
    AssignRole(FOUNDER, "admin", ROOT, 9_000.0),
    resource("more", "table", "one"),
    resource("more", "source", "project"),
    MoveResource(ResourceId("table"), ResourceId("two")),
    DeleteResource(ResourceId("table")),
    DeleteResource(ResourceId("one")),
    CreateGroup(CREW, "again"),
    ChangeMembership(CREW, BEN, member=True),
    DeleteGroup(CREW),
    DeleteServicePrincipal(BOT),
    IssueToken(TokenId("t"), "s", BOT),
    IssueToken(TokenId("t"), "s", ANN),
    RemovePrincipal(ANN),
)


def owned_mesh() -> OrganizationHarness:
    world = datamesh()
    world.do(role(ANN, "owner", "shop"), role(BEN, "owner", "ops"), request("b", "ops"))
    return world


def owned_house() -> OrganizationHarness:
    world = onehouse()
    world.do(role(ANN, "ALL", "one"), role(BEN, "ALL", "two"), role(ANN, "manager", CREW), role(ANN, "user", BOT))
    return world


WORLDS: Mapping[Callable[[], OrganizationHarness], tuple[Command, ...]] = {
    owned_mesh: _DATAMESH,
    owned_house: _ONEHOUSE,
}


def outcome(world: OrganizationHarness, command: Command, by: PrincipalId | None) -> object:
    """Return the result of a command: the written entry, or the refusal."""
    try:
        world.do(command, by=by)
    except CommandError as refusal:
        return type(refusal), str(refusal)
    return world.store.log[-1]


@cache
def _accepted(
    begin: Callable[[], OrganizationHarness], *actors: PrincipalId | None
) -> list[tuple[Command, PrincipalId | None]]:
    """Return the commands that a fresh organization accepts, each with its caller."""
    tried = [(command, who) for command in WORLDS[begin] for who in actors]
    return [each for each in tried if not isinstance(outcome(begin(), *each), tuple)]


@few
@given(st.sampled_from(list(WORLDS)), st.data())
def test_promise_6_a_write_is_decided_on_the_newest_facts(
    begin: Callable[[], OrganizationHarness], data: st.DataObject
) -> None:
    """Whatever is written between a command's decision and its write, the result is that of a command sent after it."""
    asked, who = data.draw(st.sampled_from(_accepted(begin, *ACTORS)))
    between, _ = data.draw(st.sampled_from(_accepted(begin, None)))
    racing, later = begin(), begin()
    written = later.preview(between).changes
    racing.store.before_append = lambda: racing.store.write(*written)
    later.store.write(*written)
    later.reopen()

    assert outcome(racing, asked, who) == outcome(later, asked, who)
    assert racing.store.bodies == later.store.bodies


_PRIVILEGES = ("ALL", "MANAGE", "DROP", "DESCRIBE", "CREATE_TABLE", "ALTER", "SELECT", "INSERT", "DELETE")
_moves = st.sampled_from(
    (
        MoveResource(ResourceId("table"), ResourceId("two")),
        MoveResource(ResourceId("table"), ResourceId("one")),
        SetAttributes(ResourceId("table"), {"kind": ("other",)}),
    )
)


def able(world: OrganizationHarness, who: PrincipalId, id: str) -> set[str]:
    """Return the actions and assignments that a principal may make on a table."""
    model, place = world.control.model, ResourceId(id)
    caller = Caller(who)
    questions = [Question(caller, action, place) for action in model.actions_on("table")]
    questions += [Question(caller, "assignment.add", place, role=each, subject=who) for each in _PRIVILEGES]
    return {f"{each.action} {each.role}" for each in questions if world.control.ask(each).allowed}


@few
@given(
    st.sets(st.tuples(st.sampled_from(_PRIVILEGES), st.sampled_from(("lake", "one", "two", "table")))),
    st.lists(_moves, min_size=1, max_size=3),
)
def test_promise_11_a_user_gains_nothing_by_a_move(more: set[tuple[str, str]], moves: list[Command]) -> None:
    """A move of a table never adds to what the moving user may do or assign on it, whatever roles the user holds."""
    world = onehouse()
    world.do(*(role(ANN, *each) for each in (("DROP", "table"), ("ALTER", "table"), ("CREATE_TABLE", "two"))))
    world.do(*(role(ANN, *each) for each in sorted(more) if each != ("CREATE_TABLE", "table")))
    for move in moves:
        before = able(world, ANN, "table")
        outcome(world, move, ANN)
        assert able(world, ANN, "table") <= before


@few
@given(st.sets(st.sampled_from(_PRIVILEGES), min_size=1), st.booleans())
def test_promise_11_a_recreated_table_or_group_gives_no_former_rights(
    privileges: set[str],
    through_group: bool,  # noqa: FBT001
) -> None:
    """A table or group that is deleted and created again under its name is new: no principal holds a role on it."""
    world = onehouse()
    world.do(role(CREW, "member", "project"), ChangeMembership(CREW, BEN, member=True))
    for privilege in sorted(privileges - {"CREATE_TABLE"}):
        world.do(role(CREW if through_group else BEN, privilege, "table"))

    world.do(DeleteResource(ResourceId("table")))
    world.do(CreateResource(ResourceId("new"), "table", ResourceId("one"), "table"))
    assert able(world, BEN, "new") == set()
    world.do(DeleteGroup(CREW))
    world.do(CreateGroup(CREW, "the crew"))
    assert BEN not in world.facts.groups[CREW].members
    assert not world.facts.assignments.get(CREW)
