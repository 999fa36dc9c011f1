"""Fast path of the guard: a question about a statement that is allowed, on the newest facts."""

from collections.abc import Mapping

import orjson
from pydantic import ValidationError

from headgate.control.kernel.ports import StoreError
from headgate.endpoints.http.fast_path import FastResponse
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.endpoints.internal.guard import DECIDE, Needs, build_answer, record_operation
from headgate.spark.sessions.privileges import RequiredName, RequiredPrivilege
from headgate.spark.sessions.registry import SparkRegistry

_JSON = "application/json"


class GuardFastPath:
    """The handler for `headgate.endpoints.http.fast_path`; `headgate.endpoints.internal.guard` serves all other requests."""

    def __init__(self, sparks: SparkRegistry, freshness: FreshnessBarrier) -> None:
        self._sparks = sparks
        self._freshness = freshness

    def knows(self, secret: str) -> str | None:
        """Return the id of the session's principal; None if there is no such session."""
        caller = self._sparks.caller(secret)
        return caller.principal if caller else None

    def answer(
        self, target: bytes, headers: Mapping[bytes, bytes], body: bytes, secret: str, request: str
    ) -> FastResponse | None:
        """Return the response if the statement is allowed and nothing has to be waited for; else None."""
        del target, secret, request  # the signature covers the session, and an allowed statement has no audit record
        try:
            return self._decide(headers, body) if self._freshness.is_here() else None
        except (StoreError, ValidationError):
            return None

    def _decide(self, headers: Mapping[bytes, bytes], body: bytes) -> FastResponse | None:
        given = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
        spoken = self._sparks.authenticate_driver_request("POST", DECIDE, given, body)
        if spoken is None or spoken.caller.run is not None:
            return None
        asked, judge = Needs.model_validate_json(body), spoken.spark.judge
        needs = judge.expand(asked.needs)
        if not all(map(_is_name, needs)) or judge.refusals(spoken.caller, needs, most=1):
            return None
        if record_operation(self._sparks, spoken, asked.operation, needs) is not None:
            return None
        answer = orjson.dumps(build_answer(spoken, allowed=True))
        return FastResponse(answer, DECIDE, _JSON, spoken.spark.organization.id)


def _is_name(need: RequiredPrivilege) -> bool:
    """Whether a privilege is on an object of the lake: for any other one, a decision may have to wait."""
    return isinstance(need, RequiredName)
