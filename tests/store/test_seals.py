"""Seals: signed statements that reveal a truncated or rewritten tail, which the hash chain alone cannot."""

import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from headgate.control.kernel.ports import LogWrite, StoreError
from headgate.facts.ids import ResourceId
from headgate.store import SqlStores, open_stores, seals
from headgate.store.log import SqlStore
from headgate.store.log_rows import row_of
from headgate.store.seal_keys import KnownKeys, public_file, rotate_private_key
from headgate.store.seals import Seal, read_seals
from headgate.store.verification import VerificationResult
from tests.store.samples import OTHER, ROOT, created
from tests.store.tampered_store import run

NOTHING = LogWrite(0.0, None, "nothing", ())


@pytest.fixture
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a key, outside the store."""
    return tmp_path_factory.mktemp("keys") / "log.pem"


@pytest.fixture
def sealing(lasting: str | Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStores]:
    """A store with a key that seals every third entry."""
    monkeypatch.setattr(seals, "ENTRIES_PER_SEAL", 3)
    opened = open_stores(lasting, key)
    yield opened
    opened.close()


def _append(store: SqlStore, many: int) -> None:
    for _ in range(many):
        store.append(store.head(), replace(created(store.head().revision + 1), pointers=()))


def _rewrite(where: str | Path, revision: int, root: ResourceId = ROOT) -> None:
    """Replace the newest entry, as an attacker does who knows how the hash chain is computed."""
    previous = run(where, f"SELECT previous_hash FROM log WHERE log_id = '{root}' AND revision = {revision}")[0][0]
    row = row_of(root, revision, NOTHING, previous)
    run(
        where,
        f"UPDATE log SET at = 0.0, actor = NULL, command = 'nothing', changes = '[]', grounds = '[]', hash = '{row['hash']}' "
        f"WHERE log_id = '{root}' AND revision = {revision}",
    )


def _cut(where: str | Path, above: int) -> None:
    run(where, f"DELETE FROM log WHERE revision > {above}", f"DELETE FROM seals WHERE revision > {above}")


class TestSeals:
    """Which entries get a seal, and which kinds of tampering the seals reveal."""

    def test_seals_are_made_as_the_log_grows(self, sealing: SqlStores) -> None:
        _append(sealing.log(ROOT), 7)
        _append(sealing.log(OTHER), 2)

        assert sealing.verify() == [VerificationResult(ROOT, 7, 6), VerificationResult(OTHER, 2, 0)]

    def test_a_log_is_sealed_when_the_store_closes(self, sealing: SqlStores, lasting: str | Path, key: Path) -> None:
        _append(sealing.log(ROOT), 4)
        sealing.close()

        again = open_stores(lasting, key)

        assert again.verify() == [VerificationResult(ROOT, 4, 4)]
        again.close()

    def test_closing_a_store_seals_only_the_logs_with_new_entries(
        self, sealing: SqlStores, lasting: str | Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        _append(sealing.log(ROOT), 1)
        _append(sealing.log(OTHER), 1)
        sealing.close()
        another = tmp_path_factory.mktemp("another") / "log.pem"
        rotate_private_key(another)
        again = open_stores(lasting, another)
        _append(again.log(OTHER), 1)
        again.close()

        assert run(lasting, "SELECT log_id, revision FROM seals ORDER BY log_id, revision") == [
            (ROOT, 1),
            (OTHER, 1),
            (OTHER, 2),
        ]

    def test_a_seal_is_made_on_demand_and_once_for_each_revision(self, sealing: SqlStores, lasting: str | Path) -> None:
        _append(sealing.log(ROOT), 1)

        assert sealing.seal() == sealing.seal()
        assert run(lasting, "SELECT count(*) FROM seals") == [(1,)]

    def test_a_store_without_a_key_makes_no_seals(self, lasting: str | Path) -> None:
        stores = open_stores(lasting)
        _append(stores.log(ROOT), 1)

        with pytest.raises(StoreError, match="without a key to seal its logs"):
            stores.seal()
        stores.close()

    def test_a_seal_shows_a_rewritten_tail(self, sealing: SqlStores, lasting: str | Path) -> None:
        _append(sealing.log(ROOT), 3)
        _rewrite(lasting, 3)

        with pytest.raises(
            StoreError, match="revision 3 of the log `organization` differs from the entry that was sealed"
        ):
            sealing.verify()

    def test_a_seal_shows_a_cut_tail(self, sealing: SqlStores, lasting: str | Path) -> None:
        _append(sealing.log(ROOT), 3)
        run(lasting, "DELETE FROM log WHERE revision > 1")

        with pytest.raises(
            StoreError,
            match=r"end of the log `organization` was deleted: it ends at revision 1, but a seal .* of revision 3",
        ):
            sealing.verify()

    def test_a_seal_shows_a_deleted_log(self, sealing: SqlStores, lasting: str | Path) -> None:
        _append(sealing.log(ROOT), 3)
        run(lasting, "DELETE FROM log")

        with pytest.raises(
            StoreError, match="end of the log `organization` was deleted: it ends at revision 0, but a seal"
        ):
            sealing.verify()

    def test_a_seal_stored_elsewhere_shows_a_cut_that_seals_in_the_database_cannot(
        self, sealing: SqlStores, lasting: str | Path
    ) -> None:
        _append(sealing.log(ROOT), 4)
        elsewhere = read_seals([seal.line() for seal in sealing.seal()])
        _cut(lasting, 3)

        assert sealing.verify() == [VerificationResult(ROOT, 3, 3)]
        with pytest.raises(
            StoreError, match="end of the log `organization` was deleted: it ends at revision 3, but a seal"
        ):
            sealing.verify(elsewhere)

    def test_a_seal_stored_elsewhere_shows_a_deleted_log(self, sealing: SqlStores, lasting: str | Path) -> None:
        _append(sealing.log(ROOT), 1)
        elsewhere = sealing.seal()
        _cut(lasting, 0)

        assert sealing.verify() == []
        with pytest.raises(
            StoreError, match="end of the log `organization` was deleted: it ends at revision 0, but a seal"
        ):
            sealing.verify(elsewhere)

    @pytest.mark.parametrize(
        "change",
        [
            "hash = previous_hash FROM log WHERE log.revision = seals.revision",
            "signature = 'ab'",
            "signature = 'no hex'",
            "key = 'unknown'",
            "at = at + 1",
        ],
    )
    def test_an_altered_seal_fails_verification(
        self, sealing: SqlStores, lasting: str | Path, key: Path, change: str
    ) -> None:
        _append(sealing.log(ROOT), 3)
        run(lasting, f"UPDATE seals SET {change}")

        with pytest.raises(
            StoreError, match=r"revision 3 of the log `organization` (is sealed by|has a forged seal:) the key"
        ):
            sealing.verify(known=KnownKeys.read_beside(key))

    def test_a_seal_by_a_foreign_key_fails_verification(
        self, sealing: SqlStores, lasting: str | Path, key: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        _append(sealing.log(ROOT), 2)
        forged = tmp_path_factory.mktemp("forger") / "log.pem"
        rotate_private_key(forged)
        open_stores(lasting, forged).close()

        with pytest.raises(StoreError, match="revision 2 of the log `organization` is sealed by the key"):
            sealing.verify(known=KnownKeys.read_beside(key))

    @pytest.mark.parametrize(
        "change", ["signature = x'00'", "key = x'00'", "at = 'x'", "hash = x'00'", "revision = 'x'"]
    )
    def test_a_seal_with_values_of_other_types_does_not_prevent_the_start(
        self, tmp_path: Path, key: Path, change: str
    ) -> None:
        file = tmp_path / "store.sqlite3"
        with closing(open_stores(file, key)) as stores:
            _append(stores.log(ROOT), 3)
            stores.seal()
        run(file, f"UPDATE seals SET {change}")

        with closing(open_stores(file, key)) as stores:
            assert stores.log(ROOT).head().revision == 3
            with pytest.raises(StoreError):
                stores.verify(known=KnownKeys.read_beside(key))

    @pytest.mark.parametrize("line", ["x", "[]", "{}", '{"log": 1}'])
    def test_a_line_that_is_no_seal_is_refused_with_its_number(self, line: str) -> None:
        with pytest.raises(StoreError, match="line 2 of the file is not a seal"):
            read_seals(["", line])


class TestKeys:
    """The key file, and the public keys beside it."""

    def test_the_key_file_is_readable_by_its_user_alone(self, key: Path) -> None:
        open_stores(":memory:", key).close()

        assert stat.S_IMODE(key.stat().st_mode) == 0o600

    def test_a_replaced_key_still_verifies_its_seals(self, lasting: str | Path, key: Path) -> None:
        for revision in range(3):
            stores = open_stores(lasting, key)
            _append(stores.log(ROOT), 1)
            stores.close()
            before = key.read_bytes()
            rotate_private_key(key)
            assert key.read_bytes() != before
            assert public_file(key).read_text().count("BEGIN PUBLIC KEY") == revision + 2

        stores = open_stores(lasting, key)
        assert stores.verify(known=KnownKeys.read_beside(key)) == [VerificationResult(ROOT, 3, 3)]
        stores.close()

    def test_a_key_that_an_operator_copied_is_used(self, key: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        open_stores(":memory:", key).close()
        copied = tmp_path_factory.mktemp("replica") / "copied.pem"
        copied.write_bytes(key.read_bytes())

        stores = open_stores(":memory:", copied)
        _append(stores.log(ROOT), 1)

        assert isinstance(stores.log(ROOT).seal(), Seal)
        assert stores.verify(known=KnownKeys.read_beside(copied)) == [VerificationResult(ROOT, 1, 1)]
        stores.close()

    def test_the_known_keys_are_empty_at_first(self, key: Path) -> None:
        assert KnownKeys.read_beside(key).keys == {}

    def test_an_unreadable_public_key_file_is_refused(self, key: Path) -> None:
        public_file(key).write_bytes(b"-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n")

        with pytest.raises(StoreError, match="restore the file from a backup"):
            KnownKeys.read_beside(key)

    @pytest.mark.parametrize("content", [b"", b"nothing of the kind"])
    def test_a_file_that_is_no_key_is_refused(self, key: Path, content: bytes) -> None:
        key.write_bytes(content)

        with pytest.raises(StoreError, match="restore the file from a backup"):
            open_stores(":memory:", key)

    def test_a_key_of_another_kind_is_refused(self, key: Path) -> None:
        other = generate_private_key(SECP256R1())
        key.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

        with pytest.raises(StoreError, match="its key is not an Ed25519 key"):
            open_stores(":memory:", key)
