"""Resources of certain types, by their ids or names."""

from headgate.control.kernel.errors import MissingError
from headgate.endpoints.common.context import Services
from headgate.endpoints.common.lookup import called
from headgate.facts.caller import Caller
from headgate.facts.snapshot import Resource


def one(services: Services, caller: Caller, name: str, *types: str) -> Resource:
    """Return the resource of one of these types that the caller may see; hidden and missing are the same error."""
    control = services.control
    for id in called(control.snapshot, name):
        found = control.snapshot.resources[id]
        if found.type in types and control.sees(caller, id):
            return found
    raise MissingError(services.wording.hidden((name,)))
