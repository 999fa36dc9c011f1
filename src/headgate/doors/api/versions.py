"""The version of a resource in an answer about it."""

from fastapi import Response

from headgate.control.versions import version
from headgate.doors.services import Services
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def tagged(response: Response, services: Services, facts: Snapshot, resource: ResourceId) -> str:
    """Return the version of a resource, which `If-Match` takes; the answer has it as its ETag.

    Called before documents of the resource are read: an answer never has an older document under a newer version.
    """
    found = version(facts, services.store, resource)
    response.headers["etag"] = etag(found)
    return found


def etag(version: str) -> str:
    """Return a version as an ETag."""
    return f'"{version}"'
