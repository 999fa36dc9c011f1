"""Open Policy Agent: its REST API for data, with the document and the rules of `bench/decision`."""

from collections.abc import Sequence
from typing import Any, ClassVar

import orjson
from typing_extensions import override

from bench.decision_engines.opa_engine import OpaEngine
from bench.decision_engines.oracle import Question
from bench.decision_engines.organization import Organization
from bench.decision_engines.server import request
from bench.http_engines.case import Case, Exchange
from bench.http_engines.serving import Serving


class OpaServing(Serving):
    """Open Policy Agent without authentication of clients and without a log of decisions."""

    name: ClassVar[str] = "opa"

    @classmethod
    @override
    def missing(cls) -> str | None:
        """Return how to install the server, or None."""
        return OpaEngine.missing()

    def __init__(self, organization: Organization) -> None:
        """Start the server, and send the policy and the document."""
        self._engine = OpaEngine(organization)
        self._engine.load(OpaEngine.prepare(organization))
        self.port = self._engine.port

    @override
    def says(self, body: bytes) -> Any:
        """Return the result."""
        return orjson.loads(body)["result"]

    @override
    def table(self, question: Question) -> bytes:
        """Evaluate one rule."""
        return self._engine.asked("table", question)

    @override
    def pipeline(self, question: Question, *, right: bool) -> Case:
        """Evaluate one rule, which uses `every`."""
        return Case((Exchange(self._engine.asked("pipeline", question), right),))

    @override
    def batch(self, questions: Sequence[Question]) -> bytes:
        """Evaluate one rule, which evaluates the rule of a table for each input."""
        inputs = [OpaEngine.input_of(each) for each in questions]
        return request("POST", "/v1/data/headgate/batch", {"input": {"questions": inputs}})

    @override
    def close(self) -> None:
        """Stop the server."""
        self._engine.close()
