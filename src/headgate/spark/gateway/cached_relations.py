"""Cached relations, named by id: a checkpoint returns an id, and only the session that received it may use it.

At every use the guard checks again whether the caller may still read the rows.
"""

from collections.abc import Iterable
from typing import Any, Final

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.response_limits import parse_answer

_MOST: Final = 1000
"""The limit of relations of one session; Spark keeps the rows of each."""


class SessionCheckpoints:
    """The cached relations of one session."""

    def __init__(self) -> None:
        self._relations: set[str] = set()
        self._begun: set[str] = set()
        """The running operations whose responses will contain the id of a relation."""

    def admit(self, request: Any, named: Iterable[str]) -> bool:
        """Return whether `note` must read the responses to a request, which names the relations `named`.

        Raises `RequestRefusedError` for a relation that does not belong to this session.
        """
        if isinstance(request, base.ReattachExecuteRequest):
            return request.operation_id in self._begun
        if isinstance(request, base.ReleaseExecuteRequest) and request.HasField("release_all"):
            self._begun.discard(request.operation_id)
        for relation in named:
            if relation not in self._relations:
                raise RequestRefusedError(
                    f"the checkpointed DataFrame `{relation}` does not belong to the Spark session; call `checkpoint` or `localCheckpoint` again"
                )
        if not isinstance(request, base.ExecutePlanRequest):
            return False
        kind = request.plan.command.WhichOneof("command_type")
        if kind == "remove_cached_remote_relation_command":
            self._relations.difference_update(named)
        if kind == "checkpoint_command":
            self._begin(request.operation_id)
        return kind == "checkpoint_command"

    def note(self, answer: bytes) -> None:
        """Record the relation in a response, if it contains one. Raises `DriverAnswerError`."""
        response = parse_answer(base.ExecutePlanResponse, answer)
        if response.HasField("checkpoint_command_result"):
            self._begun.discard(response.operation_id)
            self._relations.add(response.checkpoint_command_result.relation.relation_id)

    def _begin(self, operation: str) -> None:
        if len(self._relations) + len(self._begun) >= _MOST:
            raise RequestRefusedError(
                f"the Spark session holds more than {_MOST:,} checkpointed DataFrames; delete (`del`) those that you no longer use"
            )
        self._begun.add(operation)
