"""The jobs of a comparison: inputs that are run in a session of their own, once on each side."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

_SESSION_WEIGHT = 10
"""The cost of a session, in statements."""
_QUERY_WEIGHT = 8
"""The cost of a query of TPC-DS, TPC-H or SSB, in statements of the SQL tests."""
QUERY_FOLDERS = ("tpch", "tpcds", "tpcds-v2.7.0", "tpcds-modifiedQueries", "ssb")


@dataclass(frozen=True, slots=True)
class Job:
    """An input: SQL statements with their settings, or examples of documents of a module or of a file of cases."""

    name: str
    statements: tuple[str, ...]
    """The statements, or the sources of the examples."""
    settings: tuple[tuple[str, str], ...] = ()
    source: str = ""
    """The module or the file of cases that has the examples; empty for SQL."""
    documents: tuple[str, ...] = ()
    """The names of the documents in the source that have the examples."""

    @property
    def is_sql(self) -> bool:
        """Whether the job has SQL statements."""
        return not self.source

    @property
    def digest(self) -> str:
        """A short hash of all that is run; results of another digest are results of another job."""
        return digest_of(asdict(self))

    @property
    def weight(self) -> int:
        """The cost of the job, roughly in statements."""
        each = _QUERY_WEIGHT if self.name.split("/")[0] in QUERY_FOLDERS else 1
        return _SESSION_WEIGHT + each * len(self.statements)

    def to_json(self) -> dict[str, Any]:
        """Return the job as JSON, for `job_from_json`."""
        return asdict(self)


def job_from_json(fields: dict[str, Any]) -> Job:
    """Return the job of `Job.to_json` after a round trip through JSON."""
    settings = tuple((key, value) for key, value in fields["settings"])
    return Job(fields["name"], tuple(fields["statements"]), settings, fields["source"], tuple(fields["documents"]))


def digest_of(value: Any) -> str:
    """Return a short hash of a value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


def shard_of(jobs: Iterable[Job], number: int, count: int) -> list[Job]:
    """Return the jobs of shard `number` of `count`, counted from 1. All shards cost about the same, and each job is in one."""
    shards: list[list[Job]] = [[] for _ in range(count)]
    weights = [0] * count
    for job in sorted(jobs, key=lambda each: (-each.weight, each.name)):
        lightest = weights.index(min(weights))
        shards[lightest].append(job)
        weights[lightest] += job.weight
    return sorted(shards[number - 1], key=lambda each: each.name)


def chunks(sizes: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return consecutive ranges of items (first, one after the last) of which each has at most `most` in all, or one item."""
    found: list[tuple[int, int]] = []
    first, total = 0, 0
    for at, size in enumerate(sizes):
        if total and total + size > most:
            found.append((first, at))
            first, total = at, 0
        total += size
    return [*found, (first, len(sizes))] if sizes else []
