"""Settings: limits of HTTP requests."""

from headgate.app.settings.variable import SettingSpec

LIMITS = (
    SettingSpec(
        "HEADGATE_RATE",
        "rate",
        "limits.principal_rate",
        "rate limit: requests per second of one principal; 0 is no limit",
    ),
    SettingSpec(
        "HEADGATE_ADDRESS_RATE",
        "rate",
        "limits.address_rate",
        "rate limit: unauthenticated requests per second from one address; 0 is no limit",
    ),
    SettingSpec("HEADGATE_CONNECTIONS", "count", "limits.connections", "the most connections that may be open at once"),
    SettingSpec(
        "HEADGATE_NETWORK_CONNECTIONS",
        "count",
        "limits.network_connections",
        "the most open connections of one address, or one /64 network of IPv6; trusted proxies have no such limit",
    ),
    SettingSpec("HEADGATE_BODY_BYTES", "count", "limits.body", "the largest body of a request, in bytes"),
    SettingSpec(
        "HEADGATE_JSON_DEPTH",
        "count",
        "limits.depth",
        "the deepest nesting of arrays and objects in the JSON of a body",
    ),
    SettingSpec("HEADGATE_JSON_MEMBERS", "count", "limits.members", "the most members in the JSON of a body"),
    SettingSpec("HEADGATE_HEADERS", "count", "limits.headers", "the most headers of a request"),
    SettingSpec(
        "HEADGATE_HEADER_BYTES",
        "count",
        "limits.header_bytes",
        "the largest head of a request (URL and headers), in bytes",
    ),
    SettingSpec(
        "HEADGATE_HEADER_SECONDS",
        "seconds",
        "limits.header_seconds",
        "seconds within which a client must send the head of a request",
    ),
    SettingSpec(
        "HEADGATE_BODY_SECONDS", "seconds", "limits.body_seconds", "seconds within which a client must send a body"
    ),
    SettingSpec(
        "HEADGATE_REQUEST_SECONDS",
        "seconds",
        "limits.request_seconds",
        "seconds within which a request must be answered",
    ),
)
