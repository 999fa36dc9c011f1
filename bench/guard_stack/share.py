"""The guard's own share: how much longer Spark takes to parse, analyze, optimize and plan a statement."""

from functools import partial
from pathlib import Path

from pyspark.sql.connect.plan import SQL
from pyspark.sql.connect.session import SparkSession

from bench.guard_stack.direct import direct
from bench.guard_stack.effort import Effort
from bench.guard_stack.figures import adds_at_most, share_at_most
from bench.guard_stack.report import Outcome
from bench.guard_stack.statements import STATEMENTS
from bench.guard_stack.timing import in_turn
from headgate.spark.toolchain.prepare import Toolchain


def share(tools: Toolchain, folder: Path, effort: Effort) -> Outcome:
    """Measure the planning of the statements in both drivers. The request to the deciding process is part of it."""
    with direct(tools, folder) as sides:
        simple, join, ten = (
            in_turn(
                f"plan: {name}",
                partial(_plan, sides.plain, text),
                partial(_plan, sides.guarded, text),
                effort.rounds,
                effort.warm_rounds,
            )
            for name, text in STATEMENTS.items()
        )
    return Outcome((simple, join, ten), (adds_at_most(simple, 1.5), share_at_most(ten, 10)))


def _plan(session: SparkSession, text: str) -> None:
    """Plan a statement again: the driver caches analyzed plans by their id, so the plan gets a new id."""
    session.client.explain_string(SQL(text).to_proto(session.client), "simple")
