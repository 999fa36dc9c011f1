"""Access log: one line per request, without its query, body and secrets."""

import logging

from headgate.endpoints.http.probes import PATHS
from headgate.endpoints.http.request_context import RequestContext, logger

_OFTEN = frozenset({*PATHS, "/access/v1/evaluation", "/access/v1/evaluations"})
"""Routes that programs call continually. The metrics count their requests, and the audit records the decisions."""


def log_request(exchange: RequestContext) -> None:
    """Log one response; that of a probe or an evaluation only at level DEBUG."""
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
