"""The results of a comparison in its work folder: one file for each job and side, which a later run does not measure again.

The results of Headgate belong to the source code of `src/headgate`, those of plain Spark to the versions of Spark and
Iceberg, and both to the text of the job. A result of plain Spark also depends on the settings that Headgate has refused in
the same job, because plain Spark resets them.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyspark

import headgate
from headgate.spark.toolchain.jars import ICEBERG
from tools.compatibility.jars import SQLITE_JDBC
from tools.compatibility.jobs import Job, digest_of
from tools.compatibility.outcomes import Result, result_from_json
from tools.compatibility.setting_commands import key_of_setting

FORMAT: Final = 1
"""Increase it after a change of the fixture tables or of the workers that changes results: older results are measured again."""
HEADGATE, PLAIN = "headgate", "plain"


@dataclass(frozen=True, slots=True)
class Results:
    """The folders of the two sides."""

    headgate: Path
    plain: Path

    def file(self, side: str, job: Job, refused_settings: Iterable[str] = (), *, repeated: bool = False) -> Path:
        """Return the file of a job on one side; `refused_settings` are the statements whose settings plain Spark resets."""
        folder, digest = (self.headgate, job.digest)
        if side == PLAIN:
            folder, digest = self.plain, digest_of([job.digest, *sorted(set(refused_settings))])
        again = ".again" if repeated else ""
        return folder / f"{job.name.replace('/', '__')}.{digest}{again}.jsonl"

    def read(self, side: str, job: Job, *, repeated: bool = False) -> list[Result] | None:
        """Return the results of a job on one side, or None if it has not been measured."""
        file = self._existing(side, job, repeated=repeated)
        return read_results(file) if file else None

    def has(self, side: str, job: Job, *, repeated: bool = False) -> bool:
        """Whether a job has been measured on one side."""
        return self._existing(side, job, repeated=repeated) is not None

    def refused_settings(self, job: Job) -> list[str] | None:
        """Return the statements of a job that change a setting and that Headgate refused; None before it is measured."""
        file = self.file(HEADGATE, job)
        if not file.is_file():
            return None
        return refused_settings_of(read_results(file)) if job.is_sql else []

    def _existing(self, side: str, job: Job, *, repeated: bool) -> Path | None:
        refused = self.refused_settings(job) if side == PLAIN else []
        if refused is None:
            return None
        file = self.file(side, job, refused, repeated=repeated)
        return file if file.is_file() else None

    def may_have_plain(self, job: Job) -> bool:
        """Whether there is a result of plain Spark for the job, perhaps under other settings."""
        return any(self.plain.glob(f"{job.name.replace('/', '__')}.*.jsonl"))


def results_in(work: Path, plain: Path | None = None) -> Results:
    """Return the folders of results in a work folder; `plain` replaces the folder of plain Spark."""
    versions = f"{FORMAT}-spark{pyspark.__version__}-iceberg{ICEBERG.version}-sqlite{SQLITE_JDBC.version}"
    return Results(work / f"{HEADGATE}-{FORMAT}-{source_digest()}", (plain or work) / f"{PLAIN}-{versions}")


def source_digest() -> str:
    """Return a hash of the source code of Headgate."""
    root = Path(next(iter(headgate.__path__)))
    found = hashlib.sha256()
    for file in sorted(root.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            found.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:12]


def refused_settings_of(results: Iterable[Result]) -> list[str]:
    """Return the refused statements that change a setting."""
    return [each.statement for each in results if each.outcome.is_refusal and key_of_setting(each.statement)]


def read_results(file: Path) -> list[Result]:
    """Return the results in a file."""
    return [result_from_json(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def write_results(file: Path, results: Sequence[Result]) -> None:
    """Write the results into a file that exists only when it is complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [each.to_json() for each in results]
    partial = file.with_suffix(".partial")
    partial.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    partial.replace(file)
