"""Which artifacts of a session are schemas in text: the driver must not read one of them as rows."""

from collections.abc import Iterable
from typing import Final

from headgate.spark.gateway.errors import ExhaustedError, RefusedError

_MOST: Final = 10_000


class SchemaArtifacts:
    """The schemas of one session, by the hashes of their artifacts."""

    def __init__(self) -> None:
        self._hashes: set[str] = set()

    def add(self, hashes: Iterable[str]) -> None:
        """Remember schemas before the driver has them. Raises `ExhaustedError` for too many."""
        self._hashes.update(hashes)
        if len(self._hashes) > _MOST:
            raise ExhaustedError(f"the session has uploaded more than {_MOST:,} schemas; begin a new session")

    def inherit(self, origin: "SchemaArtifacts") -> None:
        """Take over those of the session that this one is a clone of."""
        self._hashes.update(origin._hashes)  # noqa: SLF001 - of the same class

    def require_rows(self, hashes: Iterable[str]) -> None:
        """Raise `RefusedError` if one of the artifacts that rows are read from is a schema."""
        for each in hashes:
            if each in self._hashes:
                raise RefusedError(f"the artifact `cache/{each}` is a schema; name artifacts with rows as `dataHashes`")
