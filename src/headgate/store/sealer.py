"""The sealer signs the newest entry of a log, after the log is verified from its newest seal on and against its mark."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select

from headgate.control.kernel.ports import StoreError
from headgate.facts.ids import ResourceId
from headgate.store import hash_chain, seals
from headgate.store.database import Database
from headgate.store.rollback_protection import HighWaterMarks, require_not_rolled_back
from headgate.store.seal_keys import KnownKeys, SealKey
from headgate.store.seals import Seal
from headgate.store.tables import log_table
from headgate.store.tables import seals as seal_table
from headgate.store.verification import ReadRows, prove_from

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SealResult:
    """The new seals, and the errors of the logs that were not sealed."""

    seals: list[Seal] = field(default_factory=list[Seal])
    refused: list[StoreError] = field(default_factory=list[StoreError])

    def report(self) -> None:
        """Write the errors to the server's log."""
        for each in self.refused:
            logger.error("a log was not sealed: %s", each)


class Sealer:
    """Seals logs with the key of a file. A log that was truncated or rewritten is not sealed."""

    def __init__(self, database: Database, file: Path) -> None:
        """Open the key, or create one for a store without seals.

        Raises `StoreError` if the file is no key, and if the keys of a sealed store are missing.
        """
        if not file.exists():
            _require_no_foreign_seals(database, file)
        self.key = SealKey.open(file)
        self._file = file
        self._database = database
        self._marks = HighWaterMarks.locate_beside(file)

    def begin(self, roots: Sequence[ResourceId]) -> None:
        """Raise the marks to the newest seals, and report each log that is behind its mark."""
        sealed = SealResult()
        try:
            self._starts([*roots, *(self._marks.read().keys() - set(roots))], sealed)
        except StoreError as error:
            sealed.refused.append(error)
        sealed.report()

    def seal(self, logs: Mapping[ResourceId, ReadRows], last: int | None = None) -> SealResult:
        """Sign the newest entry of each log, or the entry of the revision `last`. Skip logs that fail verification.

        Raises `StoreError` if the store or the files of the key cannot be used.
        """
        sealed = SealResult()
        for root, start in self._starts(list(logs), sealed).items():
            try:
                row = prove_from(root, logs[root], start, last)
            except StoreError as error:
                sealed.refused.append(error)
            else:
                sealed.seals.extend([] if row is None else [Seal.of(row, self.key)])
        with self._database.transaction() as connection:
            for each in sealed.seals:
                seals.store_seal(self._database, connection, each)
        self._marks.advance(sealed.seals)
        return sealed

    def _starts(self, roots: Sequence[ResourceId], sealed: SealResult) -> dict[ResourceId, Seal | None]:
        """Return the newest seal of each log that is not behind its mark, and raise the marks to these seals."""
        marks, found = self._marks.read(), dict[ResourceId, Seal | None]()
        newest = seals.newest_seals(self._database, roots, KnownKeys.read_beside(self._file))
        for root in roots:
            try:
                if root in marks:
                    sealed_up_to = newest[root].revision if root in newest else 0
                    require_not_rolled_back(marks[root], sealed_up_to, self._hash_in(root))
            except StoreError as error:
                sealed.refused.append(error)
            else:
                found[root] = newest.get(root)
        # Before signing: if the marks cannot be written, no new seal is made after a seal without a mark.
        self._marks.advance(seal for seal in found.values() if seal is not None)
        return found

    def _hash_in(self, root: ResourceId) -> Callable[[int], str]:
        def hash(revision: int) -> str:
            found = self._database.rows(
                select(log_table.c.hash).where(log_table.c.log_id == root, log_table.c.revision == revision)
            )
            return found[0].hash if found else hash_chain.GENESIS

        return hash


def _require_no_foreign_seals(database: Database, file: Path) -> None:
    """Raise `StoreError` if no key of a sealed store is known beside the file: creating a new key would hide that."""
    newest_first = select(seal_table.c.key).order_by(seal_table.c.at.desc())
    found = list(dict.fromkeys(row.key for row in database.rows(newest_first)))
    if found and KnownKeys.read_beside(file).keys.keys().isdisjoint(found):
        raise StoreError(
            f"the logs of the store are signed (sealed) with the key `{found[0]}`, which is not in the folder `{file.parent}`; copy the "
            "key files of the deployment into that folder, or, if that key is lost, create a new one with `headgate log rotate-key`"
        )
