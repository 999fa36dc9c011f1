"""Resources by the names that people write: `organization`, a full lake name, or a pipeline's or connection's name."""

from headgate.control.command import MissingError
from headgate.doors.services import Services
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

ORGANIZATION = "organization"


def resource(services: Services, caller: Caller, name: str) -> ResourceId:
    """Return the resource that the caller may see under this name; hidden and missing are the same error."""
    facts = services.control.snapshot
    if name == ORGANIZATION and facts.organization is not None:
        return facts.organization
    found = services.gate.discover(caller, tuple(name.split("."))).resource
    if found is None:
        raise MissingError(services.wording.hidden((name,)))
    return found


def written(services: Services, id: ResourceId) -> str:
    """Return the name that people write for a resource."""
    facts = services.control.snapshot
    return ORGANIZATION if id == facts.organization else ".".join(facts.full_name(id))
