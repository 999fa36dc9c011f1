"""The version of a resource in an answer about it."""

from fastapi import Response

from headgate.control.access.visibility import name_visibility
from headgate.control.resources.versions import version
from headgate.endpoints.common.context import Services
from headgate.endpoints.common.evaluation_time import Moment
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def tagged(response: Response, services: Services, facts: Snapshot, resource: ResourceId) -> str:
    """Return the version of a resource, which `If-Match` takes; the answer has it as its ETag.

    Called before documents of the resource are read: an answer never has an older document under a newer version.
    """
    found = version(facts, services.store, resource)
    set_version(response, found)
    return found


def tagged_approval(response: Response, services: Services, moment: Moment, id: ResourceId) -> str:
    """Return the version of what waits for approval, which contains the names that the caller may know; see `tagged`."""
    found = approval_version(services, moment, id)
    set_version(response, found)
    return found


def approval_version(services: Services, moment: Moment, id: ResourceId) -> str:
    """Return the version of what waits for approval, as the caller reads it."""
    return version(moment.facts, services.store, id, name_visibility(moment.answers, moment.caller, moment.now))


def set_version(response: Response, version: str) -> None:
    """Set the version of the answer's resource as its ETag."""
    response.headers["etag"] = f'"{version}"'
