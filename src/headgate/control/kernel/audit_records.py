"""Audit records, and the filter for reading them."""

from dataclasses import dataclass
from typing import Literal

from headgate.control.kernel.ports import LOCAL, RequestOrigin
from headgate.facts.ids import PrincipalId

AuditLevel = Literal["changes", "denied", "all"]
"""The decisions that are recorded besides the log of changes: none, denied ones, or all."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One decision for a call of an endpoint: the principal, the action, the resource and the result. No secrets.

    A call without a decision, such as one of an unknown caller, has no principal or no action; `code` is the reason.
    `resource` is an id, or a full name as the caller wrote it: see `Denial`.
    """

    at: float
    principal: PrincipalId | None
    action: str
    resource: str
    allowed: bool
    revision: int
    model: str = ""
    code: str = ""
    origin: RequestOrigin = LOCAL


REFUSED, NOT_FOUND = "refused", "not-found"
"""Codes of a denial: the caller may discover the resource; the name is hidden from the caller or missing."""
UNAUTHENTICATED, SUSPENDED = "unauthenticated", "suspended"
"""Codes of a denial: the caller is unknown, expired or revoked; its organization is suspended."""


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a call was denied, and which action on which resource it asked for, if it names them.

    `resource` is an id. If the caller may not discover the resource, it is the full name as the caller wrote it, whether
    such a resource exists or not.
    """

    code: str
    action: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Selects records; None selects all. `since` and `until` are seconds since the epoch, `until` not included.

    `resource` is one resource, or several names of it in records: its id and its full name.
    """

    principal: PrincipalId | None = None
    action: str | None = None
    resource: str | tuple[str, ...] | None = None
    allowed: bool | None = None
    door: str | None = None
    request: str | None = None
    since: float | None = None
    until: float | None = None
