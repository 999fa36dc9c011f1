"""A deployment with Spark, and runs of pipelines that the test executes itself, step by step."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql.connect.session import SparkSession

from headgate.app.background import run_in_background
from headgate.app.http.lakes import file_parsers
from headgate.app.server import Server
from headgate.app.settings.settings import Settings
from headgate.cli.demo.people import Person, Persona
from headgate.control.authentication.authenticator import format_run_secret
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.run_queue import RunRow
from headgate.control.pipelines.commits import has_committed
from headgate.control.pipelines.runs import EndRun, QueueRun, StartRun
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.definitions.context import Range, RunExecution
from headgate.pipelines.definitions.definition import split_name
from headgate.pipelines.files.file_limits import parquet_bound
from headgate.pipelines.kinds import KINDS, kind_of, parse_definition
from headgate.spark.sql.client import connect
from headgate.spark.toolchain.prepare import default_cache
from tests.egress import OPEN

_SECRET = "known to the test"  # noqa: S105 (a test secret)
_LATER = 1e12
"""A time so late that the deployment's own worker does not take the run."""


@dataclass
class Told:
    """The log lines, metrics and documents of a run."""

    lines: list[str] = field(default_factory=list[str])
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    kept: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])


@dataclass(frozen=True)
class ByHand:
    """Executes runs like the worker, so that a test sees their errors and can change their parameters."""

    server: Server
    owner: Person

    @property
    def spark(self) -> SparkSession:
        """The owner's Spark session."""
        return self.owner.spark

    def save(self, definition: Mapping[str, Any]) -> None:
        """Save a definition as the owner."""
        self.owner.call("PUT", f"/pipelines/{definition['name']}", dict(definition))

    def run(self, definition: Mapping[str, Any], saved: Mapping[str, Any] | None = None, **changed: Any) -> Told:
        """Save the definition, or `saved` in its place, and execute one run of it; raises the error that ends the run."""
        self.save(saved or definition)
        with self.execution(str(definition["name"]), **changed) as (execution, told):
            found = parse_definition(definition)
            carry_out = kind_of(found).run
            assert carry_out is not None
            carry_out(found, execution)
        return told

    @contextmanager
    def execution(
        self, name: str, run: RunId | None = None, part: Range | None = None, *, again: bool = False, **changed: Any
    ) -> Iterator[tuple[RunExecution, Told]]:
        """Begin an attempt of a run of a saved pipeline, and end it with the block; `again` leaves the run for another attempt."""
        deployment = self.server.deployment
        control, places = deployment.home.control, deployment.external_access
        run, told = run or RunId(new_id("run")), Told()
        everything = control.snapshot.resources.values()
        pipeline = next(each.id for each in everything if each.name == name and each.type in KINDS)
        begun = self._begin(run, pipeline)
        token = format_run_secret(run, _SECRET)
        spark = connect(self.server.gateway_port, token)
        staging, checkpoints = places.staging(run), places.checkpoints(pipeline)
        for folder in (staging, checkpoints):
            folder.mkdir(parents=True, exist_ok=True)
        edges = {edge.name: edge.target for edge in control.snapshot.resources[pipeline].edges("connections")}
        try:
            execution = RunExecution(
                spark=spark,
                run=run,
                say=told.lines.append,
                metric=told.metrics.__setitem__,
                exists=lambda table: control.snapshot.find(split_name(table)) is not None,
                committed=lambda table: has_committed(control, deployment.home.store, run, split_name(table)),
                place=lambda connection: places.place(edges[connection]),
                staging=staging,
                checkpoints=checkpoints,
                incoming=places.incoming(pipeline),
                parquet=parquet_bound(file_parsers(), "organization"),
                wait=lambda _: False,
                keep=told.kept.append,
                range=part,
            )
            yield replace(execution, **changed), told
        finally:
            spark.stop()
            # The due time is so late that the server's own worker does not take the run.
            control.execute(EndRun(begun, "queued" if again else "succeeded", due=_LATER if again else None), None)

    def _begin(self, run: RunId, pipeline: ResourceId) -> RunRow:
        """Begin the next attempt of a run, or the first of a new one."""
        home = self.server.deployment.home
        row = home.store.run(run)
        if row is None:
            (put,) = home.control.execute(QueueRun(run, pipeline, due=_LATER), None).plan.runs
            row = put.row
        start = StartRun(replace(row, due=0.0), "by hand", _LATER, _SECRET)
        (put,) = home.control.execute(start, None).plan.runs
        return put.row

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query of the owner."""
        return [tuple(row) for row in self.spark.sql(query).collect()]


@contextmanager
def by_hand(folder: Path, databases: tuple[str, ...] = ("raw", "trusted")) -> Iterator[ByHand]:
    """Serve a new deployment in a folder until the block ends."""
    with run_in_background(
        Settings(folder, default_cache({}), None, api_port=0, gateway_port=0, egress=OPEN), print
    ) as server:
        token = server.settings.owner_token.read_text(encoding="utf-8").strip()
        owner = Person(Persona("owner", "", ()), token, server.url, server.gateway_port)
        for name in databases:
            owner.call("POST", "/databases", {"name": name})
        try:
            yield ByHand(server, owner)
        finally:
            owner.close()
