"""The caller of a catalog request, and the lake that the request is for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate.control.organizations.organization import Organization
from headgate.facts.caller import Caller
from headgate.lake.catalog import TableCatalog
from headgate.lake.view_catalog import ViewCatalog


class CallerDeniedError(Exception):
    """The caller of a request is unknown in the organization that the request addresses, or that is suspended.

    `addressed` is that organization, None if there is none; `code` is that of the denial.
    """

    def __init__(self, code: str, addressed: Organization | None) -> None:
        super().__init__(code)
        self.code = code
        self.addressed = addressed


@dataclass(frozen=True, slots=True)
class Lake:
    """The lake of one organization. `name` is what every full name in it begins with."""

    organization: Organization
    tables: TableCatalog
    views: ViewCatalog
    name: str = "lake"


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Who is asking, in which lake. `guarded` if it comes from the Spark driver, which decides each statement before."""

    caller: Caller
    guarded: bool
    lake: Lake


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it was sent. `target` is path with query, header names are in lower case.

    `organization` is the one that its address names (`/o/{organization}/...`), which the target does not hold.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    organization: str | None = None


AuthenticateRequest = Callable[[HttpRequest], Authenticated]
"""Returns the caller of a request. Raises `CallerDeniedError` for an unknown one, and while its organization is suspended."""
