"""Versions of resources as ETags: a response has the version that `If-Match` takes."""

from fastapi import Response

from headgate.control.access.visibility import name_visibility
from headgate.control.organizations.organization import Organization
from headgate.control.resources.versions import resource_version
from headgate.endpoints.common.evaluation_time import Evaluation
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def set_etag(response: Response, organization: Organization, facts: Snapshot, resource: ResourceId) -> str:
    """Return the version of a resource, which `If-Match` takes, and set it as the ETag of the response.

    Call it before documents of the resource are read: a response must not have an older document under a newer version.
    """
    found = resource_version(facts, organization.store, resource)
    set_version(response, found)
    return found


def set_approval_etag(response: Response, organization: Organization, moment: Evaluation, id: ResourceId) -> str:
    """Set and return the version of a record that waits for approval, as `set_etag` does for a resource.

    The version covers the names in the record that the caller may know.
    """
    found = approval_version(organization, moment, id)
    set_version(response, found)
    return found


def approval_version(organization: Organization, moment: Evaluation, id: ResourceId) -> str:
    """Return the version of a record that waits for approval, with the names in it that the caller may know."""
    return resource_version(
        moment.facts, organization.store, id, name_visibility(moment.answers, moment.caller, moment.now)
    )


def set_version(response: Response, version: str) -> None:
    """Set a version as the ETag of a response."""
    response.headers["etag"] = f'"{version}"'
