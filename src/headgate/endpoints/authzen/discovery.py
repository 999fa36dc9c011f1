"""Discovery: where the endpoints of AuthZEN are, for one organization."""

from collections.abc import Mapping

from headgate.endpoints.authzen.endpoints import ENDPOINTS

WELL_KNOWN = "/.well-known/authzen-configuration"
"""Where the document of a decision point lies, with the decision point's own path behind it."""


def configuration(point: str) -> Mapping[str, str]:
    """Return the document of the decision point at this address, which has no query and no fragment."""
    endpoints = {each.named: f"{point}{each.path}" for each in ENDPOINTS}
    return {"policy_decision_point": point, **endpoints}
