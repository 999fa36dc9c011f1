"""The endpoints of AuthZEN 1.0, and the response to one request. Uses no web framework: the routes pass the bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from headgate.control.kernel.audit_records import Denial
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Decision
from headgate.endpoints.authzen.evaluation import Answered, evaluate_many, evaluate_request
from headgate.endpoints.authzen.messages import JSON, BadRequestError, ForbiddenError, read_message
from headgate.endpoints.authzen.search import resources, search_actions, search_subjects
from headgate.endpoints.authzen.subjects import SubjectResolver
from headgate.facts.caller import Caller

WELL_KNOWN = "/.well-known/authzen-configuration"
"""The path of the discovery document; the decision point's own path follows it."""


def build_configuration(point: str) -> Mapping[str, str]:
    """Return the discovery document of the decision point at the address `point`, which has no query and no fragment."""
    endpoints = {each.named: f"{point}{each.path}" for each in ENDPOINTS}
    return {"policy_decision_point": point, **endpoints}


TEXT = "text/plain; charset=utf-8"
"""The content type of an error: the specification requires a plain string."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint: its path below the decision point, its name in the discovery document, its function, and whether it is slow."""

    path: str
    named: str
    answers: Callable[[Mapping[str, Any], SubjectResolver], Answered]
    long: bool = False


ENDPOINTS = (
    Endpoint("/access/v1/evaluation", "access_evaluation_endpoint", evaluate_request),
    Endpoint("/access/v1/evaluations", "access_evaluations_endpoint", evaluate_many),
    Endpoint("/access/v1/search/subject", "search_subject_endpoint", search_subjects, long=True),
    Endpoint("/access/v1/search/resource", "search_resource_endpoint", resources, long=True),
    Endpoint("/access/v1/search/action", "search_action_endpoint", search_actions, long=True),
)


class Response(NamedTuple):
    """A response, with the decisions that it contains and the denials of the caller, for the audit."""

    status: int
    content_type: str
    body: bytes
    decisions: tuple[Decision, ...] = ()
    denials: tuple[Denial, ...] = ()


def respond(endpoint: Endpoint, content_type: str, body: bytes, organization: Organization, caller: Caller) -> Response:
    """Return the response to a request of an authenticated caller."""
    try:
        answered = endpoint.answers(read_message(content_type, body), SubjectResolver(organization, caller))
    except BadRequestError as error:
        return Response(400, TEXT, str(error).encode())
    except ForbiddenError as error:
        return Response(403, TEXT, str(error).encode(), denials=(error.denial,))
    return Response(200, JSON, orjson.dumps(answered.body), answered.decisions, answered.denials)
