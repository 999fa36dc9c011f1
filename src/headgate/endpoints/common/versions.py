"""The version of a resource in an answer about it."""

from fastapi import Response

from headgate.control.access.visibility import name_visibility
from headgate.control.resources.versions import resource_version
from headgate.endpoints.common.context import EndpointContext
from headgate.endpoints.common.evaluation_time import Evaluation
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def set_etag(response: Response, services: EndpointContext, facts: Snapshot, resource: ResourceId) -> str:
    """Return the version of a resource, which `If-Match` takes; the answer has it as its ETag.

    Called before documents of the resource are read: an answer never has an older document under a newer version.
    """
    found = resource_version(facts, services.store, resource)
    set_version(response, found)
    return found


def tagged_approval(response: Response, services: EndpointContext, moment: Evaluation, id: ResourceId) -> str:
    """Return the version of what waits for approval, which contains the names that the caller may know; see `tagged`."""
    found = approval_version(services, moment, id)
    set_version(response, found)
    return found


def approval_version(services: EndpointContext, moment: Evaluation, id: ResourceId) -> str:
    """Return the version of what waits for approval, as the caller reads it."""
    return resource_version(
        moment.facts, services.store, id, name_visibility(moment.answers, moment.caller, moment.now)
    )


def set_version(response: Response, version: str) -> None:
    """Set the version of the answer's resource as its ETag."""
    response.headers["etag"] = f'"{version}"'
