"""The log: who changed what, when."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from headgate.decision.records import Question
from headgate.doors.problems import ProblemError
from headgate.doors.services import By, Uses

router = APIRouter(tags=["log"])

_NEWEST = 2**63 - 1
"""No store counts further."""


@router.get("/log")
def read_log(
    services: Uses,
    caller: By,
    after: Annotated[int, Query(ge=0, le=_NEWEST)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Entries above a revision, oldest first, for who manages users."""
    root = services.control.snapshot.organization
    if root is None or not services.control.ask(Question(caller, "organization.manage_users", root)).allowed:
        raise ProblemError(403, "refused", "only who manages users may read the log")
    entries: list[dict[str, Any]] = []
    for entry in services.store.entries(after):
        if len(entries) == limit:
            break
        changes = [{"change": type(each).__name__, **asdict(each)} for each in entry.changes]
        actor = services.directory.name(entry.actor) if entry.actor else "headgate"
        entries.append(
            {"revision": entry.revision, "at": entry.at, "actor": actor, "command": entry.command, "changes": changes}
        )
    return {"entries": entries, "head": services.control.snapshot.revision}
