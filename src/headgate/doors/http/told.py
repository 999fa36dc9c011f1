"""One line of the log for each request: no query, no body, no secret."""

import logging

from headgate.doors.http.exchange import Exchange, log
from headgate.doors.http.probes import PATHS


def tell(exchange: Exchange) -> None:
    """Log one answer; those of probes only where everything is."""
    level = logging.DEBUG if exchange.route in PATHS else logging.INFO
    if not log.isEnabledFor(level):
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
    log.log(level, "answered", extra={"fields": fields})
