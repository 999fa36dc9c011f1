"""Settings: limits of HTTP requests."""

from headgate.app.settings.variable import SettingSpec

LIMITS = (
    SettingSpec(
        "HEADGATE_RATE", "rate", "limits.principal_rate", "requests per second of one principal; 0 is no limit"
    ),
    SettingSpec(
        "HEADGATE_ADDRESS_RATE",
        "rate",
        "limits.address_rate",
        "requests per second from one address, of nobody who is known; 0 is no limit",
    ),
    SettingSpec("HEADGATE_CONNECTIONS", "count", "limits.connections", "how many connections may be open at once"),
    SettingSpec(
        "HEADGATE_NETWORK_CONNECTIONS",
        "count",
        "limits.network_connections",
        "how many connections one address, or one IPv6 network of /64, may have open; proxies are not counted",
    ),
    SettingSpec("HEADGATE_BODY_BYTES", "count", "limits.body", "the largest body"),
    SettingSpec(
        "HEADGATE_JSON_DEPTH", "count", "limits.depth", "how deeply arrays and objects of a body may lie in each other"
    ),
    SettingSpec("HEADGATE_JSON_MEMBERS", "count", "limits.members", "how many members the JSON of a body has in all"),
    SettingSpec("HEADGATE_HEADERS", "count", "limits.headers", "how many headers a request may have"),
    SettingSpec(
        "HEADGATE_HEADER_BYTES", "count", "limits.header_bytes", "the largest head: all headers, with the address"
    ),
    SettingSpec(
        "HEADGATE_HEADER_SECONDS",
        "seconds",
        "limits.header_seconds",
        "within which a connection sends the head of a request",
    ),
    SettingSpec("HEADGATE_BODY_SECONDS", "seconds", "limits.body_seconds", "within which a body is sent"),
    SettingSpec("HEADGATE_REQUEST_SECONDS", "seconds", "limits.request_seconds", "within which a request is answered"),
)
