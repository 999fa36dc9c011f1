"""What a run may touch: what its pipeline declares, by relation."""

from headgate.facts.changes import Edge
from headgate.facts.ids import RunId
from headgate.facts.snapshot import Resource, Snapshot

_READ = frozenset(("table.describe", "table.select", "volume.describe", "volume.read"))
_WRITE = frozenset(
    # Rows come with columns that the table does not have yet: the run adds them, as far as its run-as may.
    ("table.describe", "table.select", "table.insert", "table.update", "table.delete_rows", "table.alter")
)

DECLARED = {
    "inputs": _READ,
    "outputs": _WRITE,
    "output_layers": frozenset(("database.describe", "database.create_table")),
    "connections": frozenset(("connection.describe", "connection.use")),
}
"""What a pipeline declares by each relation: these actions on what an enabled edge names."""

TABLE_SERVICE = "table_service"
MAKING = "table.create_table_service"
"""What the run of a table service does to the table that it is of is all one action: that of making such a service."""

THROUGH = {"connections": "source"}
"""A relation that also has the edges of what another relation names: who reads through a source, reads what that does."""


def is_declared(facts: Snapshot, run: RunId, action: str, resource: Resource) -> bool:
    """Say whether the pipeline of a run that has not ended declares this action on this resource."""
    current = facts.runs.get(run)
    pipeline = facts.resources.get(current.pipeline) if current else None
    if pipeline is None:
        return False
    if pipeline.type == TABLE_SERVICE and (action, resource.id) == (MAKING, pipeline.parent):
        return True
    return any(
        action in actions and any(edge.target == resource.id for edge in pipeline_edges(facts, pipeline, relation))
        for relation, actions in DECLARED.items()
    )


def pipeline_edges(facts: Snapshot, pipeline: Resource, relation: str) -> tuple[Edge, ...]:
    """Return what counts of a relation of a pipeline: its own enabled edges, and those that it has through another."""
    through = pipeline.edges(THROUGH[relation]) if relation in THROUGH else ()
    others = (facts.resources.get(edge.target) for edge in through)
    return (*pipeline.edges(relation), *(edge for each in others if each for edge in each.edges(relation)))
