"""The lineage graph of the newest successful runs, walked upstream or downstream from a table."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.lineage.recorder import RunTrace


@dataclass(frozen=True, slots=True)
class Step:
    """An edge of the graph: a run wrote `target` from `source`. `columns` maps target columns to their source columns."""

    source: ResourceId
    target: ResourceId
    pipeline: ResourceId
    run: RunId
    columns: Mapping[str, tuple[str, ...]]


def list_steps(pipeline: ResourceId, run: RunId, trace: RunTrace) -> Iterator[Step]:
    """Yield the edges of one run."""
    for target, left in trace.outputs.items():
        for source in trace.inputs:
            if source != target:
                came = {name: tuple(of for id, of in whence if id == source) for name, whence in left.sources.items()}
                columns = {name: of for name, of in came.items() if of}
                yield Step(source, target, pipeline, run, columns)


def walk(start: ResourceId, known: Iterable[Step], *, up: bool) -> Iterator[tuple[int, Step]]:
    """Yield the edges upstream or downstream of a resource, each once with its distance: the nearest have 1."""
    near = dict[ResourceId, list[Step]]()
    for step in known:
        near.setdefault(step.target if up else step.source, []).append(step)
    seen, here, distance = {start}, [start], 1
    while here:
        found = [step for place in here for step in near.get(place, ())]
        yield from ((distance, step) for step in found)
        ends = dict.fromkeys(step.source if up else step.target for step in found)
        here = [each for each in ends if each not in seen]
        seen.update(here)
        distance += 1
