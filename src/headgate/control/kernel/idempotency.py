"""Idempotency keys: a request is carried out once, and every repeat under its `Idempotency-Key` gets the first response.

The HTTP API and the Iceberg REST catalog store the response of a command with the command. A commit of a table stores its key
with the table's pointer (`headgate.lake.idempotency`).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ports import DocumentPut, Store

STORED_ANSWER: Final = "answer"
"""The kind of document that stores the response of a request with an `Idempotency-Key`."""


class ReusedKeyError(CommandError):
    """An `Idempotency-Key` was used for another request."""

    def __init__(self) -> None:
        super().__init__("the `Idempotency-Key` was already used for a different request; use a new key")


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A request with an `Idempotency-Key`, as digests: `key` of the key and its caller, `request` of the request."""

    key: str
    request: str

    @classmethod
    def digest(cls, key: Iterable[str], request: Iterable[str]) -> "IdempotencyKey":
        """Return the key for the parts that identify a caller and its key, and the parts that a request consists of."""
        return cls(compute_digest(key), compute_digest(request))

    def is_stored(self, request: str | None) -> bool:
        """Return whether a key that is stored with a request (None if it is not stored) is this one.

        Raises `ReusedKeyError` if it is stored with another request.
        """
        if request not in (None, self.request):
            raise ReusedKeyError
        return request is not None

    def stored_answer(self, store: Store) -> Mapping[str, Any] | None:
        """Return the stored response to the request, or None if it is new. Raises `ReusedKeyError`."""
        kept = store.document(STORED_ANSWER, self.key) or {}
        if not self.is_stored(kept.get("request")):
            return None
        answer: Mapping[str, Any] = kept["answer"]
        return answer

    def answer_document(self, answer: Mapping[str, Any]) -> DocumentPut:
        """Return the document that stores the response for repeats."""
        return DocumentPut(STORED_ANSWER, self.key, {"request": self.request, "answer": dict(answer)}, new=True)


def compute_digest(parts: Iterable[str]) -> str:
    """Return the SHA-256 of the parts."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
