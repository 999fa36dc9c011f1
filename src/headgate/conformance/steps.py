"""The steps of a case before its question is asked, as commands of the system or of an actor.

A step of the system needs no permission and no eligibility: a user that it names is added if necessary.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from headgate.conformance.errors import ScenarioError, time_after
from headgate.conformance.world import ROOTS, Log, World
from headgate.conformance.world_builder import add_log, ids_in, membership_of, parse_properties, resolve_parent, role_of
from headgate.control.access.assignments import AssignRole, ChangeRole, RevokeRole
from headgate.control.access.roles import DefineRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.approvals.agreements import (
    AddAccess,
    ApproveAccess,
    DeleteAccess,
    RejectAccess,
    RequestAccess,
    TerminateAccess,
)
from headgate.control.approvals.change_requests import SubmitChange
from headgate.control.identity.groups import ChangeMembership, CreateGroup, DeleteGroup
from headgate.control.identity.principals import (
    AddPrincipal,
    CreateServicePrincipal,
    DeleteServicePrincipal,
    ExpirePrincipal,
    RemovePrincipal,
    SignUp,
)
from headgate.control.identity.tokens import IssueToken, RevokeToken
from headgate.control.kernel.command import Command, CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.parsing import JsonObject, entry, first_text, require_text, text_tuple, word
from headgate.control.organizations.commands import CreateOrganization
from headgate.control.resources.commands import CreateResource, DeleteResource, MoveResource, SetAttributes
from headgate.facts.caller import Caller
from headgate.facts.changes import PrincipalAdded
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot

Commands = Iterator[tuple[Log, Command]]
"""The commands of a step, each with its log."""

Step = Callable[[World, JsonObject], Commands]

_CLOCK, _CREATE = "clock", "create"
"""The kinds of steps that are not only commands: one advances the clock, the other may create a log."""

_OF_A_PERSON = "user"
"""The scope of a token that acts as its creator."""

_SECRET = "never presented"  # noqa: S105 (scenarios refer to tokens by id)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of step: its function, and the keys that it accepts, separated by spaces; empty accepts all keys."""

    step: Step
    keys: str = ""


@dataclass(frozen=True, slots=True)
class AddWorldUser:
    """Adds a user that a step names to an organization. Membership alone gives no privileges."""

    added: PrincipalAdded
    name: str = "principal.arrive"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Add the user. Raises `InvalidError` for an actor: only the system may do this."""
        if view.caller is not None:
            raise InvalidError(
                f"the user `{self.added.principal}` is not in the organization, and only the system may add "
                "users; write the step without `as`"
            )
        return CommandEffect((self.added,))


def perform(world: World, step: JsonObject) -> World:
    """Return the world after one step. Raises `ScenarioError` for an unknown or refused step."""
    kinds = [key for key in step if key != "as"]
    if not kinds:
        raise ScenarioError(
            f"a step lacks the key that says what it does; add one of {', '.join((*STEPS, _CLOCK, _CREATE))} to it"
        )
    if len(kinds) > 1:
        raise ScenarioError(f"a step has the kinds {' and '.join(kinds)}; write one step for each")
    if kinds[0] not in (*STEPS, _CLOCK, _CREATE):
        raise ScenarioError(
            f"there is no kind of step `{kinds[0]}`; choose from {', '.join((*STEPS, _CLOCK, _CREATE))}"
        )
    kind = kinds[0]
    if kind == _CLOCK:
        return replace(world, now=time_after(world.now, require_text(step, kind)))
    body, actor = entry(step[kind]), first_text(step, "as")
    caller = None if actor is None else world.caller(actor)
    made = first_text(body, "id")
    if made is not None:
        world = replace(world, ids=world.ids | {made})
    if kind == _CREATE:
        return _created(world, body, caller)
    unknown = sorted(body.keys() - set(STEPS[kind].keys.split())) if STEPS[kind].keys else []
    if unknown:
        raise ScenarioError(
            f"the step `{kind}` has no key `{unknown[0]}`; its keys are {', '.join(STEPS[kind].keys.split())}"
        )
    does = tuple(STEPS[kind].step(world, body))
    here = {log for log, _ in does} & set(world.homes(caller.principal) if caller else ())
    for log, command in does:
        if log in here or not here:  # a step in all logs is done by an actor only in the logs that have the actor
            world = world.execute(log, command, caller)
    return world


def _created(world: World, body: JsonObject, caller: Caller | None) -> World:
    """Return the world with a created resource. A new organization has its own log, and its creator is its owner."""
    type = world.language.type(require_text(body, "type"))
    log = world.place(require_text(body, "parent"))
    world = world.execute(log, _creation(world, body, type, caller), caller)
    if type not in ROOTS:
        return world
    if caller is None:
        return add_log(world, body, type)
    id, owner = ResourceId(require_text(body, "id")), caller.principal
    founding = CreateOrganization(owner, owner, world.language.model, None, id, parse_properties(world, body)[1])
    plan = founding.decide(CommandContext(world.start(world.models, Snapshot()), None, world.now))
    return add_log(world, body, type, plan.changes)


def _creation(world: World, body: JsonObject, type: str, caller: Caller | None) -> Command:
    id, parent = require_text(body, "id"), require_text(body, "parent")
    relations, attributes = parse_properties(world, body)
    world.language.require_declared(type, (*relations, *attributes))
    if type == "group":
        return CreateGroup(GroupId(id), id, attributes)
    if type == "service_principal":
        return CreateServicePrincipal(PrincipalId(id), id)
    if type == "token":
        actor = caller.principal if caller else parent
        principal = PrincipalId(
            first_text(body, "of") or (parent if world.types[parent] == "service_principal" else actor)
        )
        return IssueToken(TokenId(id), _SECRET, principal, parent=ResourceId(parent))
    author = first_text(body, "created_by", "by")
    place, belonging = resolve_parent(world, parent, type)
    return CreateResource(
        ResourceId(id),
        type,
        place,
        _title(id),
        {**belonging, **relations},
        attributes,
        None if author is None else PrincipalId(author),
    )


def _title(id: str) -> str:
    """Return an id as a name: ids may contain dots, names may not."""
    return id.replace(".", "_")


def _grant(world: World, body: JsonObject) -> Commands:
    yield from _assign(world, require_text(body, "to"), role_of(body), require_text(body, "on"))


def _assign(world: World, subject: str, role: str, place: str) -> Commands:
    log = world.place(place)
    yield from _arrive(world, log, subject)
    yield log, AssignRole(PrincipalId(subject), role, ResourceId(place))


def _arrive(world: World, log: Log, subject: str) -> Commands:
    """Yield the command that adds a user of the world to a log, unless the log has the user."""
    added = _user(world, subject)
    if added is not None and added.principal not in world.facts(log).principals:
        yield log, AddWorldUser(added)


def _user(world: World, id: str) -> PrincipalAdded | None:
    return next((membership_of(user) for user in world.users if user["id"] == id), None)


def _revoke(world: World, body: JsonObject) -> Commands:
    place = ResourceId(require_text(body, "on"))
    yield world.place(place), RevokeRole(PrincipalId(require_text(body, "from")), role_of(body), place)


def _membership(*, member: bool) -> Step:
    def step(world: World, body: JsonObject) -> Commands:
        group, user = GroupId(require_text(body, "group")), require_text(body, "user")
        log = world.place(group)
        yield from _arrive(world, log, user)
        yield log, ChangeMembership(group, PrincipalId(user), member)

    return step


def _only_role(at: str) -> Step:
    """Return the step that leaves a user with one role on the resource in the key `at`."""

    def step(world: World, body: JsonObject) -> Commands:
        user, role, place = require_text(body, "user"), require_text(body, "role"), ResourceId(require_text(body, at))
        held = world.facts(world.place(place)).assignments.get(PrincipalId(user), ())
        old = next((name for name, where, _ in held if where == place), None)
        if old is None:
            yield from _assign(world, user, role, place)
        elif old != role:
            yield world.place(place), ChangeRole(PrincipalId(user), old, role, place)

    return step


def _join(world: World, body: JsonObject) -> Commands:
    user, root, role = PrincipalId(require_text(body, "user")), require_text(body, "of"), first_text(body, "role")
    log, known = world.place(root), _user(world, user)
    if known is None:
        raise ScenarioError(f"the world declares no user `{user}`; declare the user in the world")
    if role is None:
        yield log, SignUp(user, user, known.attributes)
    elif user in world.facts(log).principals:
        yield log, AssignRole(user, role, log)
    else:
        yield log, AddPrincipal(user, user, role, attributes=known.attributes)


def _leave(world: World, body: JsonObject) -> Commands:
    yield world.place(require_text(body, "of")), RemovePrincipal(PrincipalId(require_text(body, "user")))


def _define_role(world: World, body: JsonObject) -> Commands:
    for log in world.organizations():
        yield log, DefineRole(require_text(body, "name"), text_tuple(body.get("permissions")))


def _delete(world: World, body: JsonObject) -> Commands:
    id = require_text(body, "id")
    for log in world.homes(PrincipalId(id)) or (world.place(id),):
        yield log, _deletion(world.facts(log), id)


def _deletion(facts: Snapshot, id: str) -> Command:
    principal = facts.principals.get(PrincipalId(id))
    if GroupId(id) in facts.groups:
        return DeleteGroup(GroupId(id))
    if principal is not None:
        leaving = RemovePrincipal if principal.kind == "user" else DeleteServicePrincipal
        return leaving(PrincipalId(id))
    if TokenId(id) in facts.tokens:
        return RevokeToken(TokenId(id))
    return DeleteResource(ResourceId(id))


def _move(world: World, body: JsonObject) -> Commands:
    id, parent = require_text(body, "id"), require_text(body, "parent")
    yield world.place(id), MoveResource(ResourceId(id), resolve_parent(world, parent, world.types[id])[0])


def _set(world: World, body: JsonObject) -> Commands:
    on = ResourceId(require_text(body, "on"))
    log = world.place(on)
    attributes = [key for key in body if key not in ("on", "expires", *world.language.model.settings)]
    world.language.require_declared(world.types.get(on, ""), attributes)
    for key, value in body.items():
        if key in world.language.model.settings:
            yield log, ChangeSetting(on, key, word(value))
        elif key == "expires":
            yield log, ExpirePrincipal(PrincipalId(on), time_after(world.now, word(value)))
        elif key != "on":
            yield log, SetAttributes(on, {key: text_tuple(value)})


def _create_token(world: World, body: JsonObject) -> Commands:
    id, scope = require_text(body, "id"), first_text(body, "scope")
    if scope is not None and scope in world.language.model.scopes:
        place = ResourceId(require_text(body, "on"))
        yield world.place(place), CreateServicePrincipal(PrincipalId(id), id, scope=scope, place=place)
        return
    if scope not in (None, _OF_A_PERSON):
        raise ScenarioError(
            f"the model `{world.language.model.name}` has no scope `{scope}`; its scopes are "
            f"{', '.join((*world.language.model.scopes, _OF_A_PERSON))}"
        )
    principal = PrincipalId(first_text(body, "of") or require_text(body, "by"))
    if principal not in world.ids:
        raise ScenarioError(
            f"the world declares no principal with the id `{principal}`; declare the principal in the world"
        )
    only = ids_in(world, "only", body["only"]) if "only" in body else None
    replaced, acting = first_text(body, "replaces"), first_text(body, "acts_in")
    team = None if acting is None else ResourceId(acting)
    for log in world.homes(principal):
        there = None if only is None else tuple(each for each in only if world.place(each) == log)
        old = None if replaced is None else TokenId(replaced)
        yield log, IssueToken(TokenId(id), _SECRET, principal, only=there, replaces=old, acts_in=team)


def _request_access(world: World, body: JsonObject) -> Commands:
    port, consumer, author = (
        ResourceId(require_text(body, "port")),
        require_text(body, "consumer"),
        require_text(body, "by"),
    )
    log = world.place(port)
    yield from _arrive(world, log, consumer)
    id, asked = ResourceId(require_text(body, "id")), PrincipalId(author)
    yield log, RequestAccess(id, port, PrincipalId(consumer), require_text(body, "purpose"), asked)


def _add_access(world: World, body: JsonObject) -> Commands:
    id, port, consumer = (
        ResourceId(require_text(body, "id")),
        ResourceId(require_text(body, "port")),
        require_text(body, "consumer"),
    )
    log = world.place(port)
    yield from _arrive(world, log, consumer)
    starts, ends = _dates(world, body)
    yield log, AddAccess(id, port, PrincipalId(consumer), require_text(body, "purpose"), starts, ends)


def _approve_access(world: World, body: JsonObject) -> Commands:
    id = ResourceId(require_text(body, "id"))
    yield world.place(id), ApproveAccess(id, *_dates(world, body))


def _dates(world: World, body: JsonObject) -> tuple[float, float]:
    return time_after(world.now, require_text(body, "start")), time_after(world.now, require_text(body, "end"))


def _on_access(command: Callable[[ResourceId], Command]) -> Step:
    def step(world: World, body: JsonObject) -> Commands:
        id = ResourceId(require_text(body, "id"))
        yield world.place(id), command(id)

    return step


def _submit_change(world: World, body: JsonObject) -> Commands:
    id, on = ResourceId(require_text(body, "id")), ResourceId(require_text(body, "on"))
    yield world.place(on), SubmitChange(id, on, author=PrincipalId(require_text(body, "by")))


STEPS: Mapping[str, Kind] = {
    "grant": Kind(_grant, "to on role privilege access"),
    "revoke": Kind(_revoke, "from on role privilege access"),
    "add_member": Kind(_membership(member=True), "group user"),
    "remove_member": Kind(_membership(member=False), "group user"),
    "team_role": Kind(_only_role("team"), "user team role"),
    "set_org_role": Kind(_only_role("on"), "user on role"),
    "join": Kind(_join, "user of role"),
    "leave": Kind(_leave, "user of"),
    "define_role": Kind(_define_role, "name permissions"),
    "delete": Kind(_delete, "id"),
    "move": Kind(_move, "id parent"),
    "set": Kind(_set),
    "create_token": Kind(_create_token, "id by of on scope only replaces acts_in"),
    "request_access": Kind(_request_access, "id port consumer purpose by"),
    "add_access": Kind(_add_access, "id port consumer purpose start end"),
    "approve_access": Kind(_approve_access, "id start end"),
    "reject_access": Kind(_on_access(RejectAccess), "id"),
    "terminate_access": Kind(_on_access(TerminateAccess), "id"),
    "delete_access": Kind(_on_access(DeleteAccess), "id"),
    "submit_change": Kind(_submit_change, "id on by"),
}
"""All kinds of steps except the clock and the creation of resources."""
