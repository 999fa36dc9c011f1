"""Another Iceberg catalog, read by a process of its own: what it answers is parsed where none of our keys are."""

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
    """The other catalog cannot be read, or gives no answer."""


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table of another catalog, and where its metadata lies, or why that is not known."""

    name: tuple[str, ...]
    metadata_location: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The first line of the process."""

    tables: int = 0
    error: str = ""


_ANSWER: Final = TypeAdapter(_Answer)
_TABLE: Final = TypeAdapter(ListedTable)


class OtherCatalog:
    """Another catalog while a process reads it; closing it ends the process."""

    def __init__(self, name: str, properties: Mapping[str, str], silence: float = _SILENCE_SECONDS) -> None:
        """Open it by its name in PyIceberg's configuration and properties beside those.

        `silence` is for how many seconds nothing may be answered. Raises `OtherCatalogError`.
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
        """Return itself."""
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
        """Yield its tables by name. Raises `OtherCatalogError` if it gives no answer any more."""
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
                f"it gave no answer within {self._silence:g} s, or none that fits into the memory of its reader"
            ) from None
