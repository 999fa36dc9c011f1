"""The version of a resource in an answer about it."""

from fastapi import Response

from headgate.control.call import version
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


def tagged(response: Response, facts: Snapshot, resource: ResourceId) -> str:
    """Return the version of a resource, which `If-Match` takes; the answer has it as its ETag."""
    found = version(facts, resource)
    response.headers["etag"] = f'"{found}"'
    return found
