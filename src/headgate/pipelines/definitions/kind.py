"""What a kind of pipeline consists of; each is one module of `headgate.pipelines.kinds`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.definition import PipelineDefinition

D = TypeVar("D", bound=PipelineDefinition)


@dataclass(frozen=True, slots=True)
class Kind(Generic[D]):
    """A kind by its name, the type of the resource.

    `touches` says what a definition declares, without looking anywhere. `run` carries out one attempt; None for a
    kind that has no runs. It commits to each table once, so that `RunExecution.committed` tells what is left to do.
    `whole` says why no run can be about a part of the past, as those of a backfill are; None where one can.
    """

    name: str
    definition: type[D]
    touches: Callable[[D], DeclaredIO]
    run: Callable[[D, RunExecution], None] | None = None
    whole: Callable[[D], str | None] = lambda definition: f"each run of `{definition.name}` is about all that is there"
