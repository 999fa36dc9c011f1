"""Bodies that change a resource: one thing at a time, with names where people write names."""

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
    """One end of a relation: the id or full name of what it leads to, whether it counts, and its stream's name if any."""

    to: Called
    enabled: bool = True
    stream: Annotated[Text, Field(max_length=255)] = ""


Edges = Annotated[dict[Title, Annotated[list[RelationEdgeCreate], Field(max_length=1000)]], Field(max_length=50)]
AttributesBody = Annotated[dict[Title, Annotated[list[Word], Field(max_length=100)]], Field(max_length=50)]


class ResourcePatch(StrictSchema):
    """One thing that is to be otherwise: its name or its parent (of a table, both), these relations, or these attributes."""

    name: Title | None = None
    parent: Called | None = None
    relations: Edges | None = None
    attributes: AttributesBody | None = None


class ProposedChange(ResourcePatch):
    """One thing that is to be otherwise; what describes it, too."""

    description: Prose | None = None
    document: Document | None = None


def relations_from(moment: Evaluation, named: Edges) -> Relations:
    """Return relations by the names in a body. Raises `NotFoundError` for what the caller may not see."""
    return {
        relation: tuple(Edge(moment.resource(each.to).id, each.enabled, each.stream) for each in ends)
        for relation, ends in named.items()
    }


def parse_proposal(moment: Evaluation, body: ResourcePatch) -> Proposal:
    """Return what a body says, with ids only."""
    said: dict[str, Any] = body.model_dump(exclude_none=True)
    if body.parent is not None:
        said["parent"] = moment.resource(body.parent).id
    if body.relations is not None:
        said["relations"] = write_relations(relations_from(moment, body.relations))
    return said
