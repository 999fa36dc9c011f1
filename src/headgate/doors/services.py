"""What the doors are given: the core's questions and commands, and who can say who is asking."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request

from headgate.control.control import Control
from headgate.control.directory import Directory
from headgate.control.gate import Gate
from headgate.control.identity import Identity
from headgate.control.ports import Store
from headgate.control.wording import Wording
from headgate.doors.problems import ProblemError
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, RunId
from headgate.spark.statements import RunsStatements


class StartsRuns(Protocol):
    """Starts runs of pipelines."""

    def start(self, pipeline: ResourceId, caller: Caller) -> RunId:
        """Start a run as its run identity; raises a `CommandError` if the caller may not trigger it."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a door may use."""

    control: Control
    store: Store
    directory: Directory
    identity: Identity
    gate: Gate
    wording: Wording
    runner: StartsRuns
    statements: RunsStatements
    health: Callable[[], Mapping[str, Any]]


def bearer(request: Request) -> str:
    """Return the bearer token of a request; a problem if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise ProblemError(401, "unauthenticated", "send a token as `Authorization: Bearer <token>`")
    return token


def services(request: Request) -> Services:
    """Return what the application was wired with."""
    found: Services = request.app.state.services
    return found


def caller(request: Request) -> Caller:
    """Return who is asking, or answer 401."""
    known = services(request).identity.authenticate(bearer(request))
    if known is None:
        raise ProblemError(401, "unauthenticated", "this token is not known here, or has ended")
    return known


Uses = Annotated[Services, Depends(services)]
By = Annotated[Caller, Depends(caller)]
Bearer = Annotated[str, Depends(bearer)]
