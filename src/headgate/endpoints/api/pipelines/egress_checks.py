"""Egress checks: a pipeline is saved only if the operator's egress rules allow its connections."""

from headgate.control.connections.commands import CONNECTION
from headgate.control.egress.policy import EGRESS_SETTING
from headgate.control.kernel.errors import InvalidError
from headgate.control.organizations.organization import Organization
from headgate.facts.changes import Relations
from headgate.pipelines.connections.egress import Egress
from headgate.pipelines.connections.external_access import CONNECTIONS

_SOURCE = "source"


def require_egress(organization: Organization, egress: Egress, relations: Relations) -> None:
    """Raise `InvalidError` if the egress rules forbid a connection that a pipeline declares, itself or through its source.

    The message names the connection, but not its host or folder: a caller that may use a connection may lack `describe` on it.
    """
    resources = organization.control.snapshot.resources
    sources = [resources[edge.target] for edge in relations.get(_SOURCE, ()) if edge.target in resources]
    through = (edge for each in sources for edge in each.edges(CONNECTIONS))
    for edge in (*relations.get(CONNECTIONS, ()), *through):
        document = organization.store.document(CONNECTION, edge.target)
        if document is not None and egress.fault(document) is not None:
            raise InvalidError(
                "the operator does not allow this organization to reach the target of the connection "
                f"`{resources[edge.target].name}`; ask the operator to list it in the file that {EGRESS_SETTING} names"
            )
