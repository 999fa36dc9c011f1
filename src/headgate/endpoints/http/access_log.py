"""One line of the log for each request: no query, no body, no secret."""

import logging

from headgate.endpoints.http.probes import PATHS
from headgate.endpoints.http.request_context import RequestContext, logger

_OFTEN = frozenset({*PATHS, "/access/v1/evaluation", "/access/v1/evaluations"})
"""What programs ask all the time. The metrics count it, and the audit knows of decisions."""


def log_request(exchange: RequestContext) -> None:
    """Log one answer; those of probes and evaluations only where everything is."""
    level = logging.DEBUG if exchange.route in _OFTEN else logging.INFO
    if not logger.isEnabledFor(level):
        return
    fields = {
        "request": exchange.id,
        "method": exchange.method,
        "route": exchange.route,
        "status": exchange.status,
        "ms": round(exchange.seconds * 1000, 1),
        "principal": exchange.principal,
        "organization": exchange.organization,
    }
    logger.log(level, "answered", extra={"fields": fields})
