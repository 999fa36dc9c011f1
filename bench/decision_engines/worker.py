"""An engine in a process of its own: its memory is its own, and no other engine's garbage slows it."""

import multiprocessing
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from .asking import Asking, Loaded, WrongAnswerError
from .engine import Engine
from .organization import Organization
from .sample import Sample


class Worker:
    """A running process with one engine; its methods are those of `Asking`."""

    def __init__(self, kind: type[Engine], organization: Organization, sample: Sample) -> None:
        """Start it and wait until the engine is made. It shares this process's memory, so nothing is sent to it."""
        context = multiprocessing.get_context("fork")
        self.name = kind.name
        self._prepare = partial(kind.prepare, organization)
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, kind, organization, sample))
        self._process.start()
        theirs.close()
        self._answer()

    def load(self) -> Loaded:
        """Do `Asking.load` there. It is prepared here, for what that leaves behind would look like the engine's memory."""
        return self._do("load", self._prepare())

    def compare(self, measured: str, seconds: float) -> int:
        """Do `Asking.compare` there."""
        return self._do("compare", measured, seconds)

    def measure(self, measured: str, seconds: float) -> list[int]:
        """Do `Asking.measure` there."""
        return self._do("measure", measured, seconds)

    def _do(self, task: str, *arguments: Any) -> Any:
        self._pipe.send((task, arguments))
        return self._answer()

    def _answer(self) -> Any:
        try:
            answer = self._pipe.recv()
        except EOFError:
            raise RuntimeError(f"{self.name} ended by itself") from None
        if isinstance(answer, WrongAnswerError):
            raise answer
        return answer

    def close(self) -> None:
        """End it."""
        if self._process.is_alive():
            self._pipe.send(None)
        self._process.join()


def _serve(pipe: Connection, kind: type[Engine], organization: Organization, sample: Sample) -> None:
    engine = kind(organization)
    try:
        asking = Asking(engine, sample)
        pipe.send("made")
        while (asked := pipe.recv()) is not None:
            task, arguments = asked
            try:
                pipe.send(getattr(asking, task)(*arguments))
            except WrongAnswerError as error:
                pipe.send(error)
    finally:
        engine.close()
