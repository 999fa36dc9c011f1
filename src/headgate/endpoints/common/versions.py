"""The version of a resource in an answer about it."""

from fastapi import Response

from headgate.control.access.visibility import name_visibility
from headgate.control.organizations.organization import Organization
from headgate.control.resources.versions import resource_version
from headgate.endpoints.common.evaluation_time import Evaluation
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def set_etag(response: Response, organization: Organization, facts: Snapshot, resource: ResourceId) -> str:
    """Return the version of a resource, which `If-Match` takes; the answer has it as its ETag.

    Called before documents of the resource are read: an answer never has an older document under a newer version.
    """
    found = resource_version(facts, organization.store, resource)
    set_version(response, found)
    return found


def set_approval_etag(response: Response, organization: Organization, moment: Evaluation, id: ResourceId) -> str:
    """Return the version of what waits for approval, which contains the names that the caller may know; see `tagged`."""
    found = approval_version(organization, moment, id)
    set_version(response, found)
    return found


def approval_version(organization: Organization, moment: Evaluation, id: ResourceId) -> str:
    """Return the version of what waits for approval, as the caller reads it."""
    return resource_version(
        moment.facts, organization.store, id, name_visibility(moment.answers, moment.caller, moment.now)
    )


def set_version(response: Response, version: str) -> None:
    """Set the version of the answer's resource as its ETag."""
    response.headers["etag"] = f'"{version}"'
