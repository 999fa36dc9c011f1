"""What a run may touch: what its pipeline declares, by relation."""

from headgate.facts.ids import RunId
from headgate.facts.snapshot import Resource, Snapshot

_READ = frozenset(("table.describe", "table.select", "volume.describe", "volume.read"))
_WRITE = frozenset(("table.describe", "table.select", "table.insert", "table.update", "table.delete_rows"))

DECLARED = {
    "inputs": _READ,
    "outputs": _WRITE,
    "output_layers": frozenset(("database.describe", "database.create_table")),
    "connections": frozenset(("connection.describe", "connection.use")),
}
"""What a pipeline declares by each relation: these actions on what an enabled edge names."""


def declared(facts: Snapshot, run: RunId, action: str, resource: Resource) -> bool:
    """Say whether the pipeline of a run that has not ended declares this action on this resource."""
    current = facts.runs.get(run)
    pipeline = facts.resources.get(current.pipeline) if current else None
    if pipeline is None:
        return False
    return any(
        action in actions and any(edge.target == resource.id for edge in pipeline.edges(relation))
        for relation, actions in DECLARED.items()
    )
