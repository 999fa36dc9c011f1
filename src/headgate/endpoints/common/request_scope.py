"""What the endpoints keep in a request's ASGI scope, by name."""

ORGANIZATION_KEY = "headgate.organization"
"""Which organization the address names (`/o/{organization}/...`)."""

CALLER = "headgate.caller"
"""Who asks, and where, once that is known: a pair of organization and caller."""

ADDRESSED = "headgate.addressed"
"""The organization that a request addresses, if its caller is unknown there; its audit records the denial."""

KNOWN = "headgate.known"
"""Whether the credential of the request is of a principal that is known here."""

REQUEST = "headgate.request"
"""The request's id."""

ROUTE = "headgate.route"
"""The template of the address, where an endpoint serves it that is no route of the framework's."""
