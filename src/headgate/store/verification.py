"""Proving a log: every entry follows from the one before it, and every seal holds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row

from headgate.control.kernel.ports import StoreError
from headgate.facts.ids import ResourceId
from headgate.store import hash_chain
from headgate.store.log_rows import hash_of
from headgate.store.seal_keys import KnownKeys
from headgate.store.seals import Seal

Seen = Callable[[int], None]
"""Told of each revision that was looked at."""

ReadRows = Callable[[int], Iterator[Row[Any]]]
"""Yields the rows of a log above a revision, oldest first."""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The log is whole up to its head, and nobody without a key can have changed it up to `sealed` (0: no seal)."""

    log: ResourceId
    head: int
    sealed: int


def ignore_progress(_revision: int) -> None:
    """Nobody waits to hear how far it is."""


def verify_store(
    root: ResourceId, rows: Iterable[Row[Any]], seals: Sequence[Seal], known: KnownKeys | None, seen: Seen
) -> VerificationResult:
    """Walk the rows of a log, and hold it to the seals; whose they are is asked where keys are known.

    Raises `StoreError` that names the first revision that does not hold.
    """
    said: dict[int, list[Seal]] = {}
    for seal in seals:
        said.setdefault(seal.revision, []).append(seal)
    head, previous = 0, hash_chain.GENESIS
    for row in rows:
        head += 1
        require_next(root, row, head, previous)
        for seal in said.pop(head, ()):
            _check_seal(root, seal, row, known)
        previous = row.hash
        seen(head)
    if said:
        raise _broken(root, head + 1, f"was cut off: there is a seal of revision {max(said)}")
    return VerificationResult(root, head, max((seal.revision for seal in seals), default=0))


def prove_from(root: ResourceId, rows: ReadRows, seal: Seal | None, last: int | None) -> Row[Any] | None:
    """Return the row of the revision `last`, or the newest, proved from a seal on, or from the first entry.

    None for an empty log. Raises `StoreError` that names the first revision that does not hold.
    """
    found, revision, previous = None, 0, hash_chain.GENESIS
    if seal is not None:
        found = _require_sealed_row(root, rows, seal)
        revision, previous = seal.revision, seal.hash
    for row in rows(revision):
        if last is not None and revision >= last:
            break
        revision += 1
        require_next(root, row, revision, previous)
        found, previous = row, row.hash
    return found


def require_known(seal: Seal, known: KnownKeys) -> None:
    """Raise `StoreError` unless a known key made a seal."""
    if seal.key not in known.keys:
        raise StoreError(
            f"revision {seal.revision} of the log `{seal.log}` is sealed by the key `{seal.key}`, which is not known here; if "
            "you restored a backup, put the folder `keys` of the deployment there; otherwise another key sealed the log: "
            "restore a copy from before it"
        )
    if not seal.is_made_by(known):
        raise _broken(seal.log, seal.revision, f"has a seal that the key `{seal.key}` did not make")


def _require_sealed_row(root: ResourceId, rows: ReadRows, seal: Seal) -> Row[Any]:
    row = next(rows(seal.revision - 1), None)
    if row is None:
        raise _broken(root, seal.revision, "was cut off")
    require_next(root, row, seal.revision, row.previous_hash)
    _check_seal(root, seal, row, None)
    return row


def require_next(root: ResourceId, row: Row[Any], revision: int, previous: str) -> None:
    """Raise `StoreError` unless a row is the unaltered entry of this revision, after the entry with this hash."""
    if row.revision != revision or row.previous_hash != previous or row.hash != hash_of(row):
        raise _broken(root, revision, "was altered or lost")


def _check_seal(root: ResourceId, seal: Seal, row: Row[Any], known: KnownKeys | None) -> None:
    if known is not None:
        require_known(seal, known)
    if (seal.hash, seal.at) != (row.hash, float(row.at)):
        raise _broken(root, seal.revision, "is not the one that was sealed")


def _broken(root: ResourceId, revision: int, what: str) -> StoreError:
    return StoreError(f"revision {revision} of the log `{root}` {what}; restore a copy from before it")
