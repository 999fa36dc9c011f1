"""Request bodies that change a resource: one property at a time; other resources are given by id or name."""

from typing import Annotated, Any

from pydantic import Field

from headgate.control.approvals.change_payload import Proposal, write_relations
from headgate.endpoints.common.evaluation_time import Evaluation
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.schemas import Called, Document, StrictSchema, Title
from headgate.facts.changes import Edge, Relations

Word = Annotated[Text, Field(max_length=1000)]
Prose = Annotated[Text, Field(max_length=100_000)]


class RelationEdgeCreate(StrictSchema):
    """One target of a relation: its id or full name, whether the relation is enabled, and the name of its stream, if any."""

    to: Called
    enabled: bool = True
    stream: Annotated[Text, Field(max_length=255)] = ""


Edges = Annotated[dict[Title, Annotated[list[RelationEdgeCreate], Field(max_length=1000)]], Field(max_length=50)]
AttributesBody = Annotated[dict[Title, Annotated[list[Word], Field(max_length=100)]], Field(max_length=50)]


class ResourcePatch(StrictSchema):
    """One change of a resource: a new name or parent (for a table, both), the given relations, or the given attributes."""

    name: Title | None = None
    parent: Called | None = None
    relations: Edges | None = None
    attributes: AttributesBody | None = None


class ProposedChange(ResourcePatch):
    """One change of a resource, which may also be a new description or document."""

    description: Prose | None = None
    document: Document | None = None


def relations_from(moment: Evaluation, named: Edges) -> Relations:
    """Return relations with the ids of the names in a body. Raises `NotFoundError` for a name that the caller may not see."""
    return {
        relation: tuple(Edge(moment.resource(each.to).id, each.enabled, each.stream) for each in ends)
        for relation, ends in named.items()
    }


def parse_proposal(moment: Evaluation, body: ResourcePatch) -> Proposal:
    """Return the change in a body, with ids in place of names. Raises `NotFoundError` as `relations_from` does."""
    said: dict[str, Any] = body.model_dump(exclude_none=True)
    if body.parent is not None:
        said["parent"] = moment.resource(body.parent).id
    if body.relations is not None:
        said["relations"] = write_relations(relations_from(moment, body.relations))
    return said
