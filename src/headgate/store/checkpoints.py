"""Checkpoints of a log in the database: each is signed and names the hash of its newest entry; a forged one is ignored."""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import Any

from sqlalchemy import Connection, delete, func, select

from headgate.control.kernel.ports import Checkpoint, LogEntry, StoreError
from headgate.facts import checkpoint as facts_checkpoint
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.store import hash_chain
from headgate.store.database import Database
from headgate.store.seal_keys import SealKey
from headgate.store.tables import checkpoints, log_table

logger = logging.getLogger(__name__)

KEEP_NEWEST = 3
"""The number of newest checkpoints that are kept, for fast starts."""
KEEP_ONE_IN = 10_000
"""One checkpoint is kept for each block of this number of revisions, for questions about the past."""

_MAGIC = b"HGSIGNED"
_HEADER = Struct("<8s64s32s64s")
"""The magic bytes, the hash of the newest entry in hex, the SHA-256 of the facts that follow, and the signature."""


@dataclass(frozen=True, slots=True)
class _Header:
    """The header of a checkpoint, before its facts."""

    hash: str
    digest: bytes
    signature: bytes

    @property
    def packed(self) -> bytes:
        return _HEADER.pack(_MAGIC, self.hash.encode(), self.digest, self.signature)


class StoredCheckpoints:
    """The checkpoints of one log. A checkpoint is used only if this key signed it and its hash is that of the log's entry."""

    def __init__(self, database: Database, root: ResourceId, key: SealKey) -> None:
        self._database = database
        self._root = root
        self._key = key
        self._mine = checkpoints.c.log_id == root

    def newest(self, at_most: int | None = None) -> Checkpoint | None:
        """Return the newest valid checkpoint, not above the revision `at_most` if that is given; None if there is none."""
        query = select(checkpoints.c.revision).where(self._mine).order_by(checkpoints.c.revision.desc())
        if at_most is not None:
            query = query.where(checkpoints.c.revision <= at_most)
        for each in self._database.rows(query):
            found = self._read(each.revision)
            if found is not None:
                return found
            logger.warning(
                "ignoring the checkpoint of revision %d of the log `%s`, because this server's key did not sign it for this log; Headgate reads an older checkpoint, or the whole log",
                each.revision,
                self._root,
            )
        return None

    def put(self, checkpoint: Checkpoint) -> None:
        """Sign and store a checkpoint, and delete expired ones and those of other keys.

        The newest `KEEP_NEWEST` checkpoints and one per `KEEP_ONE_IN` revisions are kept.
        """
        with self._database.transaction() as connection:
            self._delete(connection, self._list_unsigned(connection))
            self._database.insert_new(connection, checkpoints, self._sign(connection, checkpoint))
            kept = connection.execute(select(checkpoints.c.revision).where(self._mine)).scalars().all()
            self._delete(connection, _select_expired(kept))

    def compare(self, entries: Iterable[LogEntry]) -> None:
        """Compare the newest checkpoint of this version, signed or not, with the entries. Raises `StoreError` if it differs."""
        query = select(checkpoints).where(self._mine).order_by(checkpoints.c.revision.desc()).limit(1)
        for row in self._database.rows(query):
            facts = _facts(row.content)
            if facts_checkpoint.is_of_this_version(facts) and facts != _dump(entries, row.revision):
                raise StoreError(
                    f"the checkpoint of revision {row.revision} of the log `{self._root}` differs from the log: the checkpoint was "
                    "altered in the database; delete the rows of the table `checkpoints` and start Headgate again, which then reads the whole log"
                )

    def _read(self, revision: int) -> Checkpoint | None:
        """Return the checkpoint of a revision if it is valid; None otherwise."""
        for row in self._database.rows(select(checkpoints).where(self._mine, checkpoints.c.revision == revision)):
            header, facts = _header(row.content), _facts(row.content)
            if header is None or hashlib.sha256(facts).digest() != header.digest or not self._is_signed(row, header):
                continue
            found = self._database.rows(self._hashes(revision))
            if header.hash == (found[0].hash if found else hash_chain.GENESIS):
                return Checkpoint(revision, row.at, facts)
        return None

    def _sign(self, connection: Connection, checkpoint: Checkpoint) -> dict[str, Any]:
        revision, at = checkpoint.revision, float(checkpoint.at)
        hash = connection.execute(self._hashes(revision)).scalar() or hash_chain.GENESIS
        digest = hashlib.sha256(checkpoint.content).digest()
        signature = bytes.fromhex(self._key.sign(self._text(revision, at, hash, digest)))
        content = _Header(hash, digest, signature).packed + checkpoint.content
        return {"log_id": self._root, "revision": revision, "at": at, "content": content}

    def _list_unsigned(self, connection: Connection) -> list[int]:
        """Return the revisions of the checkpoints that this key did not sign."""
        columns = (checkpoints.c.revision, checkpoints.c.at)
        query = select(*columns, func.substr(checkpoints.c.content, 1, _HEADER.size).label("content")).where(self._mine)
        found = ((row, _header(bytes(row.content))) for row in connection.execute(query))
        return [row.revision for row, header in found if header is None or not self._is_signed(row, header)]

    def _is_signed(self, row: Any, header: _Header) -> bool:
        text = self._text(row.revision, row.at, header.hash, header.digest)
        return self._key.is_signed(header.signature.hex(), text)

    def _text(self, revision: int, at: float, hash: str, digest: bytes) -> bytes:
        """Return the bytes that are signed."""
        said = {"log": self._root, "revision": revision, "at": at, "hash": hash, "facts": digest.hex()}
        return hash_chain.canonical_json({"checkpoint": said}).encode()

    def _hashes(self, revision: int) -> Any:
        return select(log_table.c.hash).where(log_table.c.log_id == self._root, log_table.c.revision == revision)

    def _delete(self, connection: Connection, revisions: list[int]) -> None:
        connection.execute(delete(checkpoints).where(self._mine, checkpoints.c.revision.in_(revisions)))


def _header(content: bytes) -> _Header | None:
    """Return the header of a checkpoint; None if it has none: an earlier version wrote it, or it is forged."""
    if not content.startswith(_MAGIC) or len(content) < _HEADER.size:
        return None
    _, hash, digest, signature = _HEADER.unpack_from(content)
    return _Header(hash.rstrip(b"\0").decode(errors="replace"), digest, signature)


def _facts(content: bytes) -> bytes:
    return content[_HEADER.size :] if content.startswith(_MAGIC) else content


def _dump(entries: Iterable[LogEntry], last: int) -> bytes | None:
    """Return the checkpoint that the entries up to a revision yield; None if the log does not reach that revision."""
    snapshot = Snapshot()
    for entry in entries:
        if entry.revision > last:
            break
        snapshot = fold(snapshot, entry.changes, entry.revision)
    return facts_checkpoint.dump_checkpoint(snapshot) if snapshot.revision == last else None


def _select_expired(revisions: Iterable[int]) -> list[int]:
    """Return the revisions of the checkpoints that neither `KEEP_NEWEST` nor `KEEP_ONE_IN` keeps."""
    ordered = sorted(revisions)
    first = {revision // KEEP_ONE_IN: revision for revision in reversed(ordered)}
    return [revision for revision in ordered[:-KEEP_NEWEST] if first[revision // KEEP_ONE_IN] != revision]
