"""The caller and the lake of a catalog request."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from headgate.control.organizations.organization import Organization
from headgate.facts.caller import Caller
from headgate.lake.catalog import TableCatalog
from headgate.lake.view_catalog import ViewCatalog


class CallerDeniedError(Exception):
    """The caller is unknown in the organization that the request addresses, or that organization is suspended.

    `addressed` is the organization, None if it does not exist; `code` is the code of the denial.
    """

    def __init__(self, code: str, addressed: Organization | None) -> None:
        super().__init__(code)
        self.code = code
        self.addressed = addressed


@dataclass(frozen=True, slots=True)
class Lake:
    """The lake of one organization. `name` is the first part of every full name in it."""

    organization: Organization
    tables: TableCatalog
    views: ViewCatalog
    name: str = "lake"


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The caller of a request and its lake. `guarded`: the Spark driver sent it, where each statement is decided before."""

    caller: Caller
    guarded: bool
    lake: Lake


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it was sent. `target` is the path with the query; header names are in lower case.

    `organization` is the one that the URL names (`/o/{organization}/...`); `target` does not contain it.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    organization: str | None = None


AuthenticateRequest = Callable[[HttpRequest], Awaitable[Authenticated]]
"""Returns the caller of a request. Raises `CallerDeniedError` if the caller is unknown or its organization is suspended."""
