"""Privileges of the run of a table service: it may call its own procedure for its own table."""

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
    """An Iceberg procedure, and those of its arguments that do not select rows."""

    name: str
    arguments: frozenset[str]


SERVICES: Final[Mapping[str, Procedure]] = {
    "compaction": Procedure("rewrite_data_files", frozenset(("table", "options"))),
    "clustering": Procedure("rewrite_data_files", frozenset(("table", "strategy", "sort_order", "options"))),
    "cleaning": Procedure("expire_snapshots", frozenset(("table", "older_than", "retain_last"))),
}
"""The procedure of each kind of service; none changes rows. A metasync has none: it reads, as every pipeline does."""


def allowed_procedure(answers: Answers, caller: Caller, table: ResourceId, now: float) -> Procedure | None:
    """Return the procedure that the caller may call for a table as the run of a service of it; None for any other caller.

    Each call decides again whether the run-as principal has the privilege to create the service.
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
