"""An engine in a separate process, so that its memory can be measured, and the garbage of other engines does not slow it."""

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
        """Start the process and wait until the engine is created. It is forked, so nothing is sent to it."""
        context = multiprocessing.get_context("fork")
        self.name = kind.name
        self._prepare = partial(kind.prepare, organization)
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, kind, organization, sample))
        self._process.start()
        theirs.close()
        self._answer()

    def load(self) -> Loaded:
        """Call `Asking.load` in the process. The data is prepared here, because garbage of that would count as the engine's memory."""
        return self._do("load", self._prepare())

    def compare(self, measured: str, seconds: float) -> int:
        """Call `Asking.compare` in the process."""
        return self._do("compare", measured, seconds)

    def measure(self, measured: str, seconds: float) -> list[int]:
        """Call `Asking.measure` in the process."""
        return self._do("measure", measured, seconds)

    def _do(self, task: str, *arguments: Any) -> Any:
        self._pipe.send((task, arguments))
        return self._answer()

    def _answer(self) -> Any:
        try:
            answer = self._pipe.recv()
        except EOFError:
            raise RuntimeError(f"the process of {self.name} ended unexpectedly") from None
        if isinstance(answer, WrongAnswerError):
            raise answer
        return answer

    def close(self) -> None:
        """Stop the process."""
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
