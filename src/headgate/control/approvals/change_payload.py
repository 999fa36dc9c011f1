"""Payloads of resource changes: as in the body of an HTTP request, or in a change request until it is approved."""

from collections.abc import Callable, Mapping
from typing import Any

from headgate.control.catalog.tables import RenameTable
from headgate.control.kernel.command import Command, require_new_name
from headgate.control.kernel.errors import InvalidError
from headgate.control.resources.changes import ChangeRelations, RenameResource
from headgate.control.resources.commands import MoveResource, SetAttributes
from headgate.control.resources.documents import ChangeDocument, SetDescription
from headgate.facts.changes import Edge, Relations
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource

Proposal = Mapping[str, Any]
"""One of `name`, `parent` (a table may have both), `relations`, `attributes`, `description` and `document`, with ids only."""


def command_from_payload(found: Resource, said: Proposal) -> Command:
    """Return the command that makes the change. Raises `InvalidError` for an invalid payload or name."""
    if "name" in said:
        require_new_name(said["name"])
    if found.type == "table" and said and said.keys() <= {"name", "parent"}:
        return RenameTable(found.id, ResourceId(said.get("parent", found.parent)), said.get("name", found.name))
    if len(said) != 1 or not said.keys() <= _CHANGES.keys():
        raise InvalidError(f"the change must have exactly one of these fields: {', '.join(_CHANGES)}")
    ((what, value),) = said.items()
    return _CHANGES[what](found.id, value)


def write_relations(relations: Relations) -> Mapping[str, list[dict[str, Any]]]:
    """Return relations as a payload."""
    return {
        relation: [{"to": edge.target, "enabled": edge.enabled, "stream": edge.name} for edge in edges]
        for relation, edges in relations.items()
    }


def read_relations(said: Mapping[str, list[Mapping[str, Any]]]) -> Relations:
    """Return the relations of a payload."""
    return {
        relation: tuple(Edge(ResourceId(each["to"]), bool(each["enabled"]), str(each["stream"])) for each in edges)
        for relation, edges in said.items()
    }


def _relations(id: ResourceId, said: Mapping[str, list[Mapping[str, Any]]]) -> Command:
    return ChangeRelations(id, read_relations(said))


def _attributes(id: ResourceId, said: Mapping[str, list[str]]) -> Command:
    return SetAttributes(id, {key: tuple(words) for key, words in said.items()})


_CHANGES: Mapping[str, Callable[[ResourceId, Any], Command]] = {
    "name": RenameResource,
    "parent": MoveResource,
    "relations": _relations,
    "attributes": _attributes,
    "description": SetDescription,
    "document": ChangeDocument,
}
