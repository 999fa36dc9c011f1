"""Relations by id: a checkpoint gives one out, and only the session that got it may name it.

Whether its rows may still be read, the guard asks again at every use.
"""

from collections.abc import Iterable
from typing import Any, Final

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.response_limits import parse_answer

_MOST: Final = 1000
"""Relations that one session may hold; Spark keeps the rows of each."""


class SessionCheckpoints:
    """The relations that one session holds."""

    def __init__(self) -> None:
        self._relations: set[str] = set()
        self._begun: set[str] = set()
        """The operations whose answers give relations out."""

    def admit(self, request: Any, named: Iterable[str]) -> bool:
        """Return whether the answers to a request that names these relations must be read by `note`.

        Raises `RequestRefusedError` for a relation that was not given to this session.
        """
        if isinstance(request, base.ReattachExecuteRequest):
            return request.operation_id in self._begun
        if isinstance(request, base.ReleaseExecuteRequest) and request.HasField("release_all"):
            self._begun.discard(request.operation_id)
        for relation in named:
            if relation not in self._relations:
                raise RequestRefusedError(f"the relation `{relation}` was not given to this session")
        if not isinstance(request, base.ExecutePlanRequest):
            return False
        kind = request.plan.command.WhichOneof("command_type")
        if kind == "remove_cached_remote_relation_command":
            self._relations.difference_update(named)
        if kind == "checkpoint_command":
            self._begin(request.operation_id)
        return kind == "checkpoint_command"

    def note(self, answer: bytes) -> None:
        """Remember the relation that an answer gives out, if it does. Raises `DriverAnswerError`."""
        response = parse_answer(base.ExecutePlanResponse, answer)
        if response.HasField("checkpoint_command_result"):
            self._begun.discard(response.operation_id)
            self._relations.add(response.checkpoint_command_result.relation.relation_id)

    def _begin(self, operation: str) -> None:
        if len(self._relations) + len(self._begun) >= _MOST:
            raise RequestRefusedError("this session holds too many checkpoints; drop some of them")
        self._begun.add(operation)
