"""The interface of a kind of pipeline; each kind is one module of `headgate.pipelines.kinds`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.definition import PipelineDefinition

D = TypeVar("D", bound=PipelineDefinition)


@dataclass(frozen=True, slots=True)
class Kind(Generic[D]):
    """A kind of pipeline. Its name is the type of its resources.

    `touches` returns what a definition declares, without any I/O. `run` executes one attempt; None for a kind without runs.
    It commits to each table once, so that `RunExecution.committed` shows which steps are left. `whole` returns why a
    definition cannot be backfilled; None if it can be.
    """

    name: str
    definition: type[D]
    touches: Callable[[D], DeclaredIO]
    run: Callable[[D, RunExecution], None] | None = None
    whole: Callable[[D], str | None] = lambda definition: (
        f"`{definition.name}` cannot be backfilled, because each of its runs processes all rows; run it without a range"
    )
