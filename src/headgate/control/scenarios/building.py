"""From the entries of a world file to facts: what its people, groups, keys, grants and resources say holds."""

from collections.abc import Iterator, Mapping

from headgate.control.scenarios.language import Language
from headgate.control.scenarios.values import Entry, ScenarioError, Value, entry, first, items, text, word, words
from headgate.control.scenarios.world import DEPLOYMENT, ROOTS, Start, World
from headgate.facts.changes import (
    Attributes,
    AttributesSet,
    Change,
    Edge,
    GroupCreated,
    MemberAdded,
    OrganizationCreated,
    PrincipalAdded,
    Relations,
    ResourceCreated,
    RoleAssigned,
    SettingChanged,
    TokenIssued,
)
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId, TokenId

BEGINNING = 0.0
"""The time at which every world begins (seconds since the epoch)."""

ROLE_WORDS = ("role", "privilege", "access")
"""What a scenario calls a role."""

_TREE = ("groups", "principals", "resources")
_STRUCTURE = ("id", "type", "parent", "members", "built_in", "created_by", "by")
_PERSON = ("id", "email", "org_role", "org_roles")


def build(document: Entry, language: Language, start: Start) -> World:
    """Return the world that a file states. Raises `ScenarioError` for what the model cannot hold."""
    users = tuple(_entries(document, "users"))
    found = {text(each, "id"): each for section in _TREE for each in _entries(document, section)}
    ids = (*found, *(text(each, "id") for each in users))
    world = World(language, start, BEGINNING, users, frozenset(ids))
    for id in found:
        world = _placed(world, id, found)
    for each in found.values():
        world = _with_members(world, each)
    for each in _entries(document, "grants"):
        world = world.written(world.place(text(each, "on")), (assigned(world, PrincipalId(text(each, "to")), each),))
    for id, settings in entry(document.get("settings", {})).items():
        changes = [SettingChanged(ResourceId(id), name, word(value)) for name, value in entry(settings).items()]
        world = world.written(world.place(id), changes)
    return world


def made(world: World, source: Entry) -> World:
    """Return the world with what an entry describes, under its parent."""
    type = world.language.type(text(source, "type"))
    if type in ROOTS:
        return rooted(world, source, type)
    id, parent = text(source, "id"), text(source, "parent")
    log = world.place(parent)
    change = _creation(world, source, type, below(world, parent, type))
    if isinstance(change, TokenIssued):
        world = world.acting(id, change.principal)
    return _with_implicit(world.declared(id, type, log).written(log, (change,)), id, type)


def rooted(world: World, source: Entry, type: str) -> World:
    """Return the world with a new deployment or organization, and in it everybody who belongs there."""
    id, model = ResourceId(text(source, "id")), world.language.model
    attributes = described(world, source)[1]
    parent = first(source, "parent")
    if parent is not None:
        created = ResourceCreated(id, type, ResourceId(parent), id, attributes=attributes)
        world = world.written(world.place(parent), (created,))
    changes: list[Change] = [OrganizationCreated(id, model.name, model.hash, type), AttributesSet(id, attributes)]
    changes += (change for user in world.users for change in _entering(world, user, id, type))
    return _with_implicit(world.begun(id, type, changes), id, type)


def below(world: World, parent: str, type: str) -> ResourceId:
    """Return what a resource of the type lies under: the parent, or what the model puts implicitly below that."""
    return implied(parent, world.language.way(world.types[parent], type))


def implied(resource: str, way: tuple[str, ...]) -> ResourceId:
    """Return the id of what the model puts below a resource, by the types on the way there."""
    return ResourceId("/".join((resource, *way)))


def described(world: World, source: Entry) -> tuple[Relations, Attributes]:
    """Return what an entry says besides its place: ids of the world as relations, other values as attributes."""
    relations: dict[str, tuple[Edge, ...]] = {}
    attributes: dict[str, tuple[str, ...]] = {}
    for key, value in source.items():
        if key == "streams":
            relations["outputs"] = tuple(_stream(entry(each)) for each in items(value))
        elif key not in _STRUCTURE and value is not None:
            ids = ids_in(world, value)
            if ids is None:
                attributes[key] = words(value)
            else:
                relations[key] = tuple(Edge(id) for id in ids)
    return relations, attributes


def ids_in(world: World, value: Value) -> tuple[ResourceId, ...] | None:
    """Return the ids that a value consists of; None if anything in it is no id of the world."""
    found = items(value)
    known = all(isinstance(each, str) and each in world.ids for each in found)
    return tuple(ResourceId(word(each)) for each in found) if known else None


def assigned(world: World, subject: SubjectId, source: Entry) -> RoleAssigned:
    """Return that a subject holds the role of a grant on what the grant names."""
    return RoleAssigned(subject, role_of(source), ResourceId(text(source, "on")), world.language.model.name)


def role_of(source: Entry) -> str:
    """Return the role that a grant is about. Raises `ScenarioError` if it names none."""
    role = first(source, *ROLE_WORDS)
    if role is None:
        raise ScenarioError(f"a grant is about one of {', '.join(ROLE_WORDS)}")
    return role


def _entries(document: Entry, section: str) -> Iterator[Entry]:
    return (entry(each) for each in items(document.get(section)))


def _placed(world: World, id: str, found: Mapping[str, Entry]) -> World:
    """Return the world with this entry, after what it lies under."""
    if id in world.places:
        return world
    parent = first(found[id], "parent")
    if parent is not None and parent in found:
        world = _placed(world, parent, found)
    return made(world, found[id])


def _with_members(world: World, source: Entry) -> World:
    group = GroupId(text(source, "id"))
    changes = [MemberAdded(group, PrincipalId(each)) for each in words(source.get("members"))]
    return world.written(world.place(group), changes)


def _with_implicit(world: World, parent: str, type: str) -> World:
    log = world.place(parent)
    for each in world.language.implicit(type):
        id = implied(parent, (each,))
        world = world.declared(id, each, log).written(log, (ResourceCreated(id, each, ResourceId(parent), each),))
        world = _with_implicit(world, id, each)
    return world


def _creation(world: World, source: Entry, type: str, parent: ResourceId) -> Change:
    id = text(source, "id")
    relations, attributes = described(world, source)
    match type:
        case "group":
            return GroupCreated(GroupId(id), word(source.get("built_in", False)) == "true", attributes)
        case "service_principal":
            return PrincipalAdded(PrincipalId(id), type, attributes)
        case "token" if "of" in source:
            return TokenIssued(TokenId(id), PrincipalId(text(source, "of")), parent=parent)
        case _:
            creator = first(source, "created_by", "by")
            author = None if creator is None else PrincipalId(creator)
            return ResourceCreated(ResourceId(id), type, parent, id, author, relations, attributes)


def _stream(source: Entry) -> Edge:
    return Edge(ResourceId(text(source, "output")), word(source.get("enabled", True)) == "true", text(source, "name"))


def _entering(world: World, source: Entry, root: ResourceId, type: str) -> Iterator[Change]:
    """Yield that a user is in a new log: everybody in the deployment's, else as the world states, or everybody."""
    user, role = PrincipalId(text(source, "id")), _org_role(source, root)
    if type == DEPLOYMENT or role is not None or not _states_membership(source):
        yield PrincipalAdded(user, "user", _attributes(source))
    if type != DEPLOYMENT and role is not None:
        yield RoleAssigned(user, role, root, world.language.model.name)


def _states_membership(source: Entry) -> bool:
    return "org_role" in source or "org_roles" in source


def _org_role(source: Entry, root: ResourceId) -> str | None:
    return first(entry(source.get("org_roles", {})), root) or first(source, "org_role")


def _attributes(source: Entry) -> Attributes:
    """Return what may decide about a user. Of an e-mail address that is the domain."""
    attributes = {key: words(value) for key, value in source.items() if key not in _PERSON}
    email = first(source, "email")
    return attributes if email is None else {**attributes, "domain": (email.partition("@")[2],)}
