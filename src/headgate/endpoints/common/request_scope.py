"""Keys of the values that the endpoints keep in a request's ASGI scope."""

ORGANIZATION_KEY = "headgate.organization"
"""The organization that the path names (`/o/{organization}/...`)."""

CALLER = "headgate.caller"
"""The pair of organization and caller, once the request is authenticated."""

ADDRESSED = "headgate.addressed"
"""The organization that a request addresses, if its caller is unknown there; its audit records the denial."""

KNOWN = "headgate.known"
"""Whether the credential of the request belongs to a known principal."""

REQUEST = "headgate.request"
"""The request's id."""

ROUTE = "headgate.route"
"""The template of the path, if an endpoint serves the request that is not a route of the framework."""
