"""Builds a world from its file: the users, groups, keys, grants and resources become facts."""

from collections.abc import Iterator, Mapping

from headgate.conformance.errors import ScenarioError
from headgate.conformance.language import Language
from headgate.conformance.world import DEPLOYMENT, ROOTS, Log, World
from headgate.control.kernel.log_follower import EngineFactory
from headgate.control.kernel.parsing import (
    JsonObject,
    JsonValue,
    entry,
    first_text,
    list_items,
    require_text,
    text_tuple,
    word,
)
from headgate.control.questions.parsing import ROLE_WORDS, WORDS
from headgate.control.resources.implicit import implicit_children
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
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, TokenId

BEGINNING = 0.0
"""The time at which every world begins (seconds since the epoch)."""

_TREE = ("groups", "principals", "resources")
_STRUCTURE = ("id", "type", "parent", "members", "built_in", "created_by", "by")
_PERSON = ("id", "email", "org_role", "org_roles")


def build(document: JsonObject, language: Language, start: EngineFactory) -> World:
    """Return the world of a file. Raises `ScenarioError` for entries that the model does not allow."""
    users = tuple(_entries(document, "users"))
    found = {require_text(each, "id"): each for section in _TREE for each in _entries(document, section)}
    ids = (*found, *(require_text(each, "id") for each in users))
    world = World(language, start, BEGINNING, users, frozenset(ids))
    for id in found:
        world = _add_with_parents(world, id, found)
    for each in found.values():
        group = GroupId(require_text(each, "id"))
        changes = [MemberAdded(group, PrincipalId(member)) for member in text_tuple(each.get("members"))]
        world = world.with_changes(world.place(group), changes)
    for each in _entries(document, "grants"):
        place = ResourceId(require_text(each, "on"))
        given = RoleAssigned(PrincipalId(require_text(each, "to")), role_of(each), place, language.model.name)
        world = world.with_changes(world.place(place), (given,))
    for id, settings in entry(document.get("settings", {})).items():
        changes = [SettingChanged(ResourceId(id), name, word(value)) for name, value in entry(settings).items()]
        world = world.with_changes(world.place(id), changes)
    return world


def add_log(world: World, source: JsonObject, type: str, opening: tuple[Change, ...] = ()) -> World:
    """Return the world with the log of a new deployment or organization: the `opening` changes, and the users that belong to it."""
    id, model = ResourceId(require_text(source, "id")), world.language.model
    attributes = parse_properties(world, source)[1]
    opening = opening or (
        OrganizationCreated(id, model.name, model.hash, type),
        AttributesSet(id, attributes),
        *implicit_children(model, id, type),
    )
    there = {change.principal for change in opening if isinstance(change, PrincipalAdded)}
    people = [
        change for user in world.users if user["id"] not in there for change in _build_entrance(world, user, id, type)
    ]
    return world.with_log(id, type, (*opening, *people))


def resolve_parent(world: World, parent: str, type: str) -> tuple[ResourceId, Relations]:
    """Return the parent of a resource in the tree, and the relation to the parent that the file states, if it needs one.

    The tree parent is the stated parent or one of its implicit children. If the model connects the type to the stated parent
    by a relation that propagates roles, the tree parent is the nearest ancestor that accepts the type.
    """
    facts, language = world.facts(world.place(parent)), world.language
    if language.accepts(world.types[parent], type) or not language.model.lineage:
        return resource_at(parent, language.implicit_path(world.types[parent], type)), {}
    above = facts.ancestors(ResourceId(parent)) if ResourceId(parent) in facts.resources else ()
    place = next((each for each in above if language.accepts(each.type, type)), None)
    if place is None:
        raise ScenarioError(f"neither `{parent}` nor a resource above it can contain a `{type}`; choose another parent")
    return resource_at(place.id, language.implicit_path(place.type, type)), {
        language.model.lineage[0]: (Edge(ResourceId(parent)),)
    }


def resource_at(resource: str, way: tuple[str, ...]) -> ResourceId:
    """Return the id of the resource at the end of a path of implicit types below a resource."""
    return ResourceId("/".join((resource, *way)))


def parse_properties(world: World, source: JsonObject) -> tuple[Relations, Attributes]:
    """Return the relations and attributes of an entry: a key whose values are ids of the world is a relation.

    The value of a declared attribute is a word, even if it is also an id.
    """
    type = first_text(source, "type")
    declared = world.language.names.attributes.get(world.language.type(type), ()) if type else ()
    relations: dict[str, tuple[Edge, ...]] = {}
    attributes: dict[str, tuple[str, ...]] = {}
    for key, value in source.items():
        if key == "streams":
            relations["outputs"] = tuple(_stream(entry(each)) for each in list_items(value))
        elif key not in _STRUCTURE and value is not None:
            ids = None if key in declared else ids_in(world, key, value)
            if ids is None:
                attributes[key] = text_tuple(value)
            else:
                relations[key] = tuple(Edge(id) for id in ids)
    return relations, attributes


def ids_in(world: World, key: str, value: JsonValue) -> tuple[ResourceId, ...] | None:
    """Return the ids in the value of a key; None if one of its elements is not an id of the world."""
    found = list_items(value)
    known = key not in WORDS and all(isinstance(each, str) and each in world.ids for each in found)
    return tuple(ResourceId(word(each)) for each in found) if known else None


def role_of(source: JsonObject) -> str:
    """Return the role of a grant. Raises `ScenarioError` if there is none."""
    role = first_text(source, *ROLE_WORDS)
    if role is None:
        raise ScenarioError(f"a grant has no role; add one of the keys {', '.join(ROLE_WORDS)}")
    return role


def membership_of(source: JsonObject) -> PrincipalAdded:
    """Return the change that adds a user of the world to a log. Only the domain of an e-mail address is an attribute."""
    attributes = {key: text_tuple(value) for key, value in source.items() if key not in _PERSON}
    email = first_text(source, "email")
    if email is not None:
        attributes["domain"] = (email.partition("@")[2],)
    return PrincipalAdded(PrincipalId(require_text(source, "id")), "user", attributes)


def _entries(document: JsonObject, section: str) -> Iterator[JsonObject]:
    return (entry(each) for each in list_items(document.get(section)))


def _add_with_parents(world: World, id: str, found: Mapping[str, JsonObject]) -> World:
    """Return the world with an entry, and before it its ancestors."""
    if id in world.places:
        return world
    source = found[id]
    parent, type = first_text(source, "parent"), world.language.type(require_text(source, "type"))
    if parent is not None:
        world = _add_with_parents(world, parent, found)
        place, belonging = resolve_parent(world, parent, type)
        world = world.with_changes(world.place(parent), tuple(_creation(world, source, type, place, belonging)))
    return add_log(world, source, type) if type in ROOTS else world


def _creation(
    world: World, source: JsonObject, type: str, parent: ResourceId, belonging: Relations
) -> Iterator[Change]:
    id = require_text(source, "id")
    relations, attributes = parse_properties(world, source)
    if type == "group":
        yield GroupCreated(GroupId(id), word(source.get("built_in", False)) == "true", attributes)
    elif type == "service_principal":
        yield PrincipalAdded(PrincipalId(id), type, attributes)
    elif type == "token":  # a token without `of` acts as its parent, which need not be a principal
        yield TokenIssued(TokenId(id), PrincipalId(first_text(source, "of") or parent), parent=parent)
    else:
        author = first_text(source, "created_by", "by")
        creator = None if author is None else PrincipalId(author)
        yield ResourceCreated(ResourceId(id), type, parent, id, creator, {**belonging, **relations}, attributes)
        if type not in ROOTS:
            yield from implicit_children(world.language.model, ResourceId(id), type)


def _stream(source: JsonObject) -> Edge:
    return Edge(
        ResourceId(require_text(source, "output")),
        word(source.get("enabled", True)) == "true",
        require_text(source, "name"),
    )


def _build_entrance(world: World, source: JsonObject, root: Log, type: str) -> Iterator[Change]:
    """Yield the changes that add a user to a new log, if the user belongs to it.

    A deployment has every user. An organization has the users with a role in it, and those for which the file states no
    organization role at all.
    """
    user, role = PrincipalId(require_text(source, "id")), _org_role(source, root)
    if type == DEPLOYMENT or role is not None or not _states_membership(source):
        yield membership_of(source)
    if type != DEPLOYMENT and role is not None:
        yield RoleAssigned(user, role, root, world.language.model.name)


def _states_membership(source: JsonObject) -> bool:
    return "org_role" in source or "org_roles" in source


def _org_role(source: JsonObject, root: Log) -> str | None:
    return first_text(entry(source.get("org_roles", {})), root) or first_text(source, "org_role")
