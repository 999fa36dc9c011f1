"""Another Iceberg catalog, read by a separate process: its responses are parsed where Headgate's keys are not present."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Final, Self, cast

from pydantic import TypeAdapter, ValidationError

_SILENCE_SECONDS: Final = 120.0
_LONGEST_LINE: Final = 64 * 1024
_OURS: Final = "HEADGATE_"
_READER: Final = "headgate.lake.other_catalog_reader"


class OtherCatalogError(Exception):
    """The other catalog cannot be read, or does not respond."""


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table of another catalog, with the location of its metadata file, or the problem if that is unknown."""

    name: tuple[str, ...]
    metadata_location: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The first line that the process writes: the number of tables, or the error."""

    tables: int = 0
    error: str = ""


_ANSWER: Final = TypeAdapter(_Answer)
_TABLE: Final = TypeAdapter(ListedTable)


class OtherCatalog:
    """Another catalog, which a process reads; closing it ends the process."""

    def __init__(self, name: str, properties: Mapping[str, str], silence: float = _SILENCE_SECONDS) -> None:
        """Open the catalog `name` of PyIceberg's configuration, with additional `properties`.

        `silence` is the longest time without a response, in seconds. Raises `OtherCatalogError`.
        """
        self._silence = silence
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _READER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if not name.startswith(_OURS)},
        )
        self._asked, self._answers = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        try:
            self._ask({"name": name, "properties": dict(properties)})
            self.count = self._count()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Return the catalog itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._asked, self._answers):
            with suppress(BrokenPipeError):
                pipe.close()

    def tables(self) -> Iterator[ListedTable]:
        """Yield the tables in the order of their names. Raises `OtherCatalogError` if the catalog stops responding."""
        for _ in range(self.count):
            yield self._next(_TABLE)

    def _ask(self, question: dict[str, Any]) -> None:
        with suppress(BrokenPipeError):
            self._asked.write(json.dumps(question).encode())
            self._asked.close()

    def _count(self) -> int:
        answer: _Answer = self._next(_ANSWER)
        if answer.error:
            raise OtherCatalogError(answer.error)
        return answer.tables

    def _next(self, kind: TypeAdapter[Any]) -> Any:
        timer = threading.Timer(self._silence, self._process.kill)
        timer.start()
        try:
            line = self._answers.readline(_LONGEST_LINE)
        finally:
            timer.cancel()
        try:
            return kind.validate_json(line)
        except ValidationError:
            raise OtherCatalogError(
                f"the catalog did not respond within {self._silence:g} s, or its response needs too much memory; check that the catalog is running, then retry"
            ) from None
