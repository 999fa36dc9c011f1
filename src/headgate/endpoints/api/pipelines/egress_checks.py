"""The operator's egress rules, asked before a pipeline is saved that names connections."""

from headgate.control.connections.commands import CONNECTION
from headgate.control.egress.policy import EGRESS_SETTING
from headgate.control.kernel.errors import InvalidError
from headgate.control.organizations.organization import Organization
from headgate.facts.changes import Relations
from headgate.pipelines.connections.egress import Egress
from headgate.pipelines.connections.external_access import CONNECTIONS

_SOURCE = "source"


def require_egress(organization: Organization, egress: Egress, relations: Relations) -> None:
    """Raise `InvalidError` if a connection that a pipeline declares, by itself or by its source, may not be reached.

    The text names the connection, and not what is behind it: the caller may use it, but perhaps not describe it.
    """
    resources = organization.control.snapshot.resources
    sources = [resources[edge.target] for edge in relations.get(_SOURCE, ()) if edge.target in resources]
    through = (edge for each in sources for edge in each.edges(CONNECTIONS))
    for edge in (*relations.get(CONNECTIONS, ()), *through):
        document = organization.store.document(CONNECTION, edge.target)
        if document is not None and egress.fault(document) is not None:
            raise InvalidError(
                f"what is behind the connection `{resources[edge.target].name}` is not allowed to this organization; "
                f"the operator lists it in the file that {EGRESS_SETTING} names"
            )
