"""What the run of a table service may do: call its own procedure for the table that it is of, by the right to make it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headgate.control.resources.attributes import KIND_ATTRIBUTE
from headgate.decision.evaluator import Answers
from headgate.decision.run_scope import MAKING, TABLE_SERVICE
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure of Iceberg's, and those of its arguments that choose no rows."""

    name: str
    arguments: frozenset[str]


SERVICES: Final[Mapping[str, Procedure]] = {
    "compaction": Procedure("rewrite_data_files", frozenset(("table", "options"))),
    "clustering": Procedure("rewrite_data_files", frozenset(("table", "strategy", "sort_order", "options"))),
    "cleaning": Procedure("expire_snapshots", frozenset(("table", "older_than", "retain_last"))),
}
"""By the kind of service. It leaves the rows of a table as they are; a metasync reads, as every pipeline does."""


def allowed_procedure(answers: Answers, caller: Caller, table: ResourceId, now: float) -> Procedure | None:
    """Return the procedure that the caller may call for a table as the run of a service of it; None for everybody else.

    What making the service needs is decided anew each time, for the principal that the run is as.
    """
    service = _service(answers, caller)
    if service is None or service.parent != table:
        return None
    procedure = SERVICES.get(next(iter(service.attributes.get(KIND_ATTRIBUTE, ())), ""))
    question = Question(caller, MAKING, table, given=service.attributes)
    return procedure if procedure and answers.check(question, now).allowed else None


def _service(answers: Answers, caller: Caller) -> Resource | None:
    run = answers.facts.runs.get(caller.run) if caller.run else None
    pipeline = answers.facts.resources.get(run.pipeline) if run else None
    return pipeline if pipeline and pipeline.type == TABLE_SERVICE else None
