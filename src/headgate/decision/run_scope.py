"""Scope of a run: the actions on the resources that its pipeline declares, by relation."""

from headgate.facts.changes import Edge
from headgate.facts.ids import RunId
from headgate.facts.snapshot import Resource, Snapshot

_READ = frozenset(("table.describe", "table.select", "volume.describe", "volume.read"))
_WRITE = frozenset(
    # New rows may have columns that the table does not have yet; the run adds them if its run-as may alter the table.
    ("table.describe", "table.select", "table.insert", "table.update", "table.delete_rows", "table.alter")
)

DECLARED = {
    "inputs": _READ,
    "outputs": _WRITE,
    "output_layers": frozenset(("database.describe", "database.create_table")),
    "connections": frozenset(("connection.describe", "connection.use")),
}
"""The actions that a pipeline declares by each relation, on the targets of its enabled edges."""

TABLE_SERVICE = "table_service"
MAKING = "table.create_table_service"
"""A run of a table service needs one action on the service's table: the one that creating such a service needs."""

THROUGH = {"connections": "source"}
"""Relations that also have the edges of the resources that another relation names: reading through a source uses its connections."""


def is_declared(facts: Snapshot, run: RunId, action: str, resource: Resource) -> bool:
    """Whether the pipeline of an unfinished run declares this action on this resource."""
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
    """Return the enabled edges of a pipeline's relation: its own, and those of resources in `THROUGH`."""
    through = pipeline.edges(THROUGH[relation]) if relation in THROUGH else ()
    others = (facts.resources.get(edge.target) for edge in through)
    return (*pipeline.edges(relation), *(edge for each in others if each for edge in each.edges(relation)))
