"""Relations by id: a checkpoint gives one out, and only the session that got it may name it.

Spark keeps the rows of a checkpoint and asks nobody about them again. So what one session holds stands on the
operations that made it, and goes with the right to what they read.
"""

from collections.abc import Iterable
from typing import Any, Final

from headgate.spark.gateway.errors import RefusedError
from headgate.spark.gateway.protos import base

_MOST: Final = 1000
"""Relations that one session may hold; Spark keeps the rows of each."""


class Checkpoints:
    """What one session holds: each relation with the operations that it stands on."""

    def __init__(self) -> None:
        self._relations: dict[str, frozenset[str]] = {}
        self._begun: dict[str, frozenset[str]] = {}
        """Operation -> what the relation that it will give out stands on."""

    def admit(self, request: Any, named: Iterable[str]) -> bool:
        """Return whether the answers to a request that names these relations must be read by `note`.

        Raises `RefusedError` for a relation that was not given to this session, or may not be read any more.
        """
        if isinstance(request, base.ReattachExecuteRequest):
            return request.operation_id in self._begun
        if isinstance(request, base.ReleaseExecuteRequest) and request.HasField("release_all"):
            self._begun.pop(request.operation_id, None)
        stands_on = frozenset[str]().union(*map(self._standing_of, named))
        if not isinstance(request, base.ExecutePlanRequest):
            return False
        kind = request.plan.command.WhichOneof("command_type")
        if kind == "remove_cached_remote_relation_command":
            del self._relations[request.plan.command.remove_cached_remote_relation_command.relation.relation_id]
        if kind == "checkpoint_command":
            self._begin(request.operation_id, stands_on)
        return kind == "checkpoint_command"

    def note(self, answer: bytes) -> None:
        """Remember the relation that an answer gives out, if it does."""
        response = base.ExecutePlanResponse.FromString(answer)
        if response.HasField("checkpoint_command_result"):
            stands_on = self._begun.pop(response.operation_id, frozenset())
            relation = response.checkpoint_command_result.relation.relation_id
            self._relations[relation] = stands_on | {response.operation_id}

    def standing(self) -> frozenset[str]:
        """Return the operations that something here stands on, though they have ended."""
        return frozenset[str]().union(*self._relations.values())

    def drop(self, operation: str) -> None:
        """Forget what stands on an operation: what it read may not be read any more."""
        self._relations = {key: on for key, on in self._relations.items() if operation not in on}

    def _standing_of(self, relation: str) -> frozenset[str]:
        if relation not in self._relations:
            raise RefusedError(f"the relation `{relation}` was not given to this session, or may not be read any more")
        return self._relations[relation]

    def _begin(self, operation: str, stands_on: frozenset[str]) -> None:
        if len(self._relations) + len(self._begun) >= _MOST:
            raise RefusedError("this session holds too many checkpoints; drop some of them")
        self._begun[operation] = stands_on
