"""Verification of a log: its hash chain is unbroken, and every seal on it is valid."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row

from headgate.control.kernel.ports import StoreError
from headgate.facts.ids import ResourceId
from headgate.store import hash_chain
from headgate.store.log_rows import chain_fault
from headgate.store.seal_keys import KnownKeys
from headgate.store.seals import Seal

Seen = Callable[[int], None]
"""Called with each verified revision, to show progress."""

ReadRows = Callable[[int], Iterator[Row[Any]]]
"""Yields the rows of a log above a revision, oldest first."""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The log is unbroken up to `head`. Up to `sealed` (0: no seal) it can have been changed only with a seal key."""

    log: ResourceId
    head: int
    sealed: int


def ignore_progress(_revision: int) -> None:
    """Ignore the progress, for callers that show none."""


def verify_store(
    root: ResourceId, rows: Iterable[Row[Any]], seals: Sequence[Seal], known: KnownKeys | None, seen: Seen
) -> VerificationResult:
    """Verify the hash chain of a log and its seals. Signatures of seals are verified only if `known` keys are given.

    Raises `StoreError` that names the first invalid revision.
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
        raise StoreError(
            f"the end of the log `{root}` was deleted: it ends at revision {head}, but a seal (the signed checksum) of revision "
            f"{max(said)} exists; restore a backup from before the damage"
        )
    return VerificationResult(root, head, max((seal.revision for seal in seals), default=0))


def prove_from(root: ResourceId, rows: ReadRows, seal: Seal | None, last: int | None) -> Row[Any] | None:
    """Return the row of the revision `last`, or the newest, after verifying the chain from a seal or the first entry.

    None for an empty log. Raises `StoreError` that names the first invalid revision.
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
    """Raise `StoreError` unless a known key signed a seal."""
    if seal.key not in known.keys:
        raise StoreError(
            f"revision {seal.revision} of the log `{seal.log}` is sealed by the key `{seal.key}`, which is not a known "
            "key of this deployment; if you restored a backup, restore the folder `keys` of its deployment too; otherwise a "
            "key of another deployment sealed the log: restore a backup from before that seal"
        )
    if not seal.is_made_by(known):
        raise StoreError(
            f"revision {seal.revision} of the log `{seal.log}` has a forged seal: the key `{seal.key}` did not sign it; "
            "the log was altered, so restore a backup from before that"
        )


def _require_sealed_row(root: ResourceId, rows: ReadRows, seal: Seal) -> Row[Any]:
    row = next(rows(seal.revision - 1), None)
    if row is None:
        raise StoreError(
            f"revision {seal.revision} of the log `{root}` was deleted: the log has no such revision, but its seal (the signed "
            "checksum) exists; restore a backup from before the damage"
        )
    require_next(root, row, seal.revision, row.previous_hash)
    _check_seal(root, seal, row, None)
    return row


def require_next(root: ResourceId, row: Row[Any], revision: int, previous: str) -> None:
    """Raise `StoreError` unless a row is the unaltered entry of this revision, after the entry with the hash `previous`."""
    fault = chain_fault(row, revision, previous, f"of the log `{root}`")
    if fault is not None:
        raise StoreError(f"{fault}; restore a backup from before the damage")


def _check_seal(root: ResourceId, seal: Seal, row: Row[Any], known: KnownKeys | None) -> None:
    if known is not None:
        require_known(seal, known)
    if (seal.hash, seal.at) != (row.hash, float(row.at)):
        raise StoreError(
            f"revision {seal.revision} of the log `{root}` differs from the entry that was sealed; "
            "restore a backup from before the damage"
        )
