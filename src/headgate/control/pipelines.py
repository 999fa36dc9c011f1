"""Pipelines: what they declare, whose rights their runs use, and the runs themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.control.command import InvalidError, MissingError, Plan, View
from headgate.control.ports import DocumentPut
from headgate.control.resources import CreateResource, DeleteResource
from headgate.facts.changes import (
    Change,
    Relations,
    RelationsSet,
    RunAsSet,
    RunEnded,
    RunStarted,
)
from headgate.facts.ids import ResourceId, RunId

KINDS = ("source", "query")
_TARGETS = {
    "inputs": ("table", "volume"),
    "outputs": ("table", "volume", "database"),
    "output_layers": ("database",),
    "connections": ("connection",),
}
RUN_STATES = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class SavePipeline:
    """Make a pipeline in a project, or replace the definition of one. Its runs use the rights of who saved it last."""

    pipeline: ResourceId
    project: ResourceId
    kind: str
    title: str
    relations: Relations
    definition: Mapping[str, Any]
    name: str = "pipeline.save"

    def plan(self, view: View) -> Plan:
        """Making needs what the model says; changing needs `edit` on the pipeline as it is and as it would be."""
        if self.kind not in KINDS:
            raise InvalidError(f"`{self.kind}` is not a kind of pipeline; there are {', '.join(KINDS)}")
        if view.caller is None:
            raise InvalidError("a pipeline is saved by a principal, whose rights its runs use")
        self._know_targets(view)
        for edge in self.relations.get("connections", ()):
            view.require_action("connection.use", edge.target)
        exists = self.pipeline in view.facts.resources
        changes = self._replaced(view) if exists else self._created(view)
        run_as = RunAsSet(self.pipeline, view.caller.principal)
        return Plan((*changes, run_as), (DocumentPut("pipeline", self.pipeline, dict(self.definition)),))

    def _created(self, view: View) -> tuple[Change, ...]:
        return CreateResource(self.pipeline, self.kind, self.project, self.title, self.relations).plan(view).changes

    def _replaced(self, view: View) -> tuple[Change, ...]:
        found = view.target(self.pipeline, self.kind)
        change = RelationsSet(found.id, self.relations)
        for each in (view, view.after(change)):
            each.require_action(f"{self.kind}.edit", found.id)
        # A run reads the definition when its turn comes, with the rights of whoever had saved it when it was started.
        not_running(view, self.pipeline, self.title)
        return (change,)

    def _know_targets(self, view: View) -> None:
        for relation, edges in self.relations.items():
            if relation not in _TARGETS:
                raise InvalidError(f"a pipeline has no relation `{relation}`; it has {', '.join(_TARGETS)}")
            for edge in edges:
                view.resource(edge.target, *_TARGETS[relation])


@dataclass(frozen=True, slots=True)
class DeletePipeline:
    """The pipeline goes; the tables it wrote stay."""

    pipeline: ResourceId
    name: str = "pipeline.delete"

    def plan(self, view: View) -> Plan:
        """Need `delete` on the pipeline."""
        view.target(self.pipeline, *KINDS)
        return DeleteResource(self.pipeline).plan(view)


@dataclass(frozen=True, slots=True)
class StartRun:
    """One execution. Its identity may touch what is declared and what the run-as principal may touch at that moment."""

    run: RunId
    pipeline: ResourceId
    name: str = "run.start"

    def plan(self, view: View) -> Plan:
        """Need `trigger`, and a run-as principal that is still there; one run of a pipeline at a time."""
        found = view.target(self.pipeline, *KINDS)
        view.require_action(f"{found.type}.trigger", found.id)
        view.free_id(self.run)
        run_as = view.facts.run_as.get(found.id)
        if run_as is None or run_as not in view.facts.principals:
            raise InvalidError(
                f"the run-as principal of `{found.name}` is gone; somebody who may edit it has to save it"
            )
        not_running(view, found.id, found.name)
        document: dict[str, Any] = {
            "pipeline": found.id,
            "state": "running",
            "started": view.now,
            "actor": view.actor,
            "log": [],
        }
        return Plan((RunStarted(self.run, found.id, run_as),), (DocumentPut("run", self.run, document),))


@dataclass(frozen=True, slots=True)
class EndRun:
    """The run is over, and its identity with it. Said by the deployment."""

    run: RunId
    state: str
    document: Mapping[str, Any]
    name: str = "run.end"

    def plan(self, view: View) -> Plan:
        """Only the deployment ends a run."""
        if view.caller is not None:
            raise InvalidError("a run is ended by the deployment")
        if self.state not in RUN_STATES:
            raise InvalidError(f"a run ends as {', '.join(RUN_STATES)}, not as `{self.state}`")
        if self.run not in view.facts.runs:
            raise MissingError(f"there is no run `{self.run}` under way")
        return Plan((RunEnded(self.run, self.state),), (DocumentPut("run", self.run, dict(self.document)),))


@dataclass(frozen=True, slots=True)
class CancelRun:
    """The run is over before its time, and its identity with it: what it does next is refused."""

    run: RunId
    document: Mapping[str, Any]
    name: str = "run.cancel"

    def plan(self, view: View) -> Plan:
        """Need `cancel` on the pipeline."""
        found = view.facts.runs.get(self.run)
        if found is None:
            raise MissingError(f"there is no run `{self.run}` under way that you may see")
        pipeline = view.target(found.pipeline)
        view.require_action(f"{pipeline.type}.cancel", pipeline.id)
        return Plan((RunEnded(self.run, "cancelled"),), (DocumentPut("run", self.run, dict(self.document)),))


def not_running(view: View, pipeline: ResourceId, name: str) -> None:
    """Raise `InvalidError` if a run of the pipeline is under way."""
    if any(each.pipeline == pipeline for each in view.facts.runs.values()):
        raise InvalidError(f"`{name}` is running; wait for that run to end")
