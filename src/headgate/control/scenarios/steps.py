"""The steps of a case: what happened before its question is asked."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from headgate.control.scenarios.building import assigned, ids_in, made, role_of
from headgate.control.scenarios.values import Entry, ScenarioError, entry, first, later, text, word, words
from headgate.control.scenarios.world import ORGANIZATION, World
from headgate.facts import changes as c
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, TokenId

Step = Callable[[World, Entry], World]


def perform(world: World, step: Entry) -> World:
    """Return the world after one step. Raises `ScenarioError` for a kind of step that nobody knows."""
    kinds = [key for key in step if key != "as"]
    if len(kinds) != 1 or kinds[0] not in STEPS:
        raise ScenarioError(f"there is no kind of step `{', '.join(kinds)}`")
    kind = kinds[0]
    if kind == "clock":
        return replace(world, now=later(world.now, text(step, kind)))
    return STEPS[kind](world, entry(step[kind]))


def _grant(world: World, body: Entry) -> World:
    return world.written(world.place(text(body, "on")), (assigned(world, PrincipalId(text(body, "to")), body),))


def _revoke(world: World, body: Entry) -> World:
    place = text(body, "on")
    return world.written(
        world.place(place), (c.RoleRevoked(PrincipalId(text(body, "from")), role_of(body), ResourceId(place)),)
    )


def _add_member(world: World, body: Entry) -> World:
    group = GroupId(text(body, "group"))
    return world.written(world.place(group), (c.MemberAdded(group, PrincipalId(text(body, "user"))),))


def _remove_member(world: World, body: Entry) -> World:
    group = GroupId(text(body, "group"))
    return world.written(world.place(group), (c.MemberRemoved(group, PrincipalId(text(body, "user"))),))


def _team_role(world: World, body: Entry) -> World:
    return _set_role(world, body, text(body, "team"))


def _set_org_role(world: World, body: Entry) -> World:
    return _set_role(world, body, text(body, "on"))


def _set_role(world: World, body: Entry, place: str) -> World:
    user, log = PrincipalId(text(body, "user")), world.place(place)
    held = world.facts(log).assignments.get(user, {})
    gone = [c.RoleRevoked(user, role, where, reason) for role, where, reason in held if where == place]
    return world.written(log, (*gone, assigned(world, user, {**body, "on": place})))


def _join(world: World, body: Entry) -> World:
    user, log = PrincipalId(text(body, "user")), world.place(text(body, "of"))
    role = first(body, "role") or world.language.model.newcomer
    if role is None:
        raise ScenarioError(f"the model `{world.language.model.name}` lets nobody sign up alone")
    known = user in world.facts(log).principals
    added = () if known else (c.PrincipalAdded(user, "user"),)
    return world.written(log, (*added, assigned(world, user, {"role": role, "on": text(body, "of")})))


def _leave(world: World, body: Entry) -> World:
    return world.written(world.place(text(body, "of")), (c.PrincipalRemoved(PrincipalId(text(body, "user"))),))


def _define_role(world: World, body: Entry) -> World:
    change = c.CustomRoleDefined(text(body, "name"), words(body.get("permissions")))
    for log in world.logs:
        if world.types[log] == ORGANIZATION:
            world = world.written(log, (change,))
    return world


def _delete(world: World, body: Entry) -> World:
    id = text(body, "id")
    for log in (world.place(id),) if id in world.places else world.homes(id):
        world = world.written(log, (_deletion(world, log, id),))
    return world


def _deletion(world: World, log: ResourceId, id: str) -> c.Change:
    facts = world.facts(log)
    if GroupId(id) in facts.groups:
        return c.GroupDeleted(GroupId(id))
    if PrincipalId(id) in facts.principals:
        return c.PrincipalRemoved(PrincipalId(id))
    if TokenId(id) in facts.tokens:
        return c.TokenRevoked(TokenId(id))
    return c.ResourceDeleted(ResourceId(id))


def _move(world: World, body: Entry) -> World:
    id = text(body, "id")
    return world.written(world.place(id), (c.ResourceRenamed(ResourceId(id), ResourceId(text(body, "parent")), id),))


def _set(world: World, body: Entry) -> World:
    on = text(body, "on")
    return world.written(world.place(on), tuple(_settings(world, on, body)))


def _settings(world: World, on: str, body: Entry) -> Iterator[c.Change]:
    attributes = dict(world.facts(world.place(on)).resources[ResourceId(on)].attributes)
    for key, value in body.items():
        if key in world.language.model.settings:
            yield c.SettingChanged(ResourceId(on), key, word(value))
        elif key == "expires":
            yield c.PrincipalExpires(PrincipalId(on), later(world.now, word(value)))
        elif key != "on":
            attributes[key] = words(value)
            yield c.AttributesSet(ResourceId(on), attributes)


def _create_token(world: World, body: Entry) -> World:
    id, scope = TokenId(text(body, "id")), first(body, "scope")
    if scope is not None and scope in world.language.model.scopes:
        return _key(world, body, world.language.model.scopes[scope])
    principal = PrincipalId(first(body, "of") or text(body, "by"))
    only = ids_in(world, body["only"]) if "only" in body else None
    replaced = first(body, "replaces")
    gone = (c.TokenRevoked(TokenId(replaced)),) if replaced is not None else ()
    for log in world.homes(principal):
        world = world.written(log, (*gone, c.TokenIssued(id, principal, only=only)))
    return world.acting(id, principal)


def _key(world: World, body: Entry, roles: Mapping[str, str]) -> World:
    id, on = PrincipalId(text(body, "id")), text(body, "on")
    log = world.place(on)
    places = {world.types[place]: place for place in (log, on)}
    changes = [
        c.RoleAssigned(id, role, ResourceId(places[type]), world.language.model.name)
        for type, role in roles.items()
        if type in places
    ]
    world = world.declared(id, "service_principal", log)
    return world.written(log, (c.PrincipalAdded(id, "service_principal"), *changes))


def _request_access(world: World, body: Entry) -> World:
    id, port = ResourceId(text(body, "id")), ResourceId(text(body, "port"))
    consumer, author = PrincipalId(text(body, "consumer")), PrincipalId(text(body, "by"))
    log = world.place(port)
    world = world.declared(id, "access", log).written(log, (c.AccessRequested(id, port, consumer, author),))
    facts = world.facts(log)
    auto = facts.resources[port].attributes.get("auto_approve") == ("true",)
    owners = {edge.target for edge in facts.resources[facts.resources[port].parent].edges("owner")}
    return _approved(world, id, world.now, None) if auto or consumer in owners else world


def _approved(world: World, id: ResourceId, starts: float, ends: float | None) -> World:
    log = world.place(id)
    agreement = world.facts(log).agreements[id]
    role = c.RoleAssigned(
        agreement.consumer, "consumer", agreement.port, world.language.model.name, None, ends, starts, id
    )
    return world.written(log, (c.AccessApproved(id, starts, ends), role))


def _approve_access(world: World, body: Entry) -> World:
    starts, ends = (later(world.now, text(body, key)) for key in ("start", "end"))
    return _approved(world, ResourceId(text(body, "id")), starts, ends)


def _add_access(world: World, body: Entry) -> World:
    id, port = ResourceId(text(body, "id")), ResourceId(text(body, "port"))
    log = world.place(port)
    change = c.AccessRequested(id, port, PrincipalId(text(body, "consumer")))
    return _approve_access(world.declared(id, "access", log).written(log, (change,)), body)


def _reject_access(world: World, body: Entry) -> World:
    id = ResourceId(text(body, "id"))
    return world.written(world.place(id), (c.AccessEnded(id, "rejected"),))


def _terminate_access(world: World, body: Entry) -> World:
    id = ResourceId(text(body, "id"))
    return world.written(world.place(id), (c.AccessEnded(id, "terminated"),))


def _delete_access(world: World, body: Entry) -> World:
    id = ResourceId(text(body, "id"))
    return world.written(world.place(id), (c.AccessDeleted(id),))


def _submit_change(world: World, body: Entry) -> World:
    id, on = ResourceId(text(body, "id")), ResourceId(text(body, "on"))
    log = world.place(on)
    change = c.ChangeRequested(id, on, PrincipalId(text(body, "by")))
    return world.declared(id, "change_request", log).written(log, (change,))


STEPS: Mapping[str, Step] = {
    "grant": _grant,
    "revoke": _revoke,
    "add_member": _add_member,
    "remove_member": _remove_member,
    "team_role": _team_role,
    "set_org_role": _set_org_role,
    "join": _join,
    "leave": _leave,
    "define_role": _define_role,
    "create": made,
    "delete": _delete,
    "move": _move,
    "set": _set,
    "create_token": _create_token,
    "request_access": _request_access,
    "add_access": _add_access,
    "approve_access": _approve_access,
    "reject_access": _reject_access,
    "terminate_access": _terminate_access,
    "delete_access": _delete_access,
    "submit_change": _submit_change,
    "clock": lambda world, _: world,
}
