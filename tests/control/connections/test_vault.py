"""The secrets of connections are encrypted, and a lost or changed key is reported as such."""

from pathlib import Path

import pytest

from headgate.control.connections.vault import NO_VAULT, Vault, VaultError

SECRET = {"password": "open sesame"}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "keys" / "secrets.key")


def test_an_encrypted_secret_decrypts_and_does_not_contain_its_text(vault: Vault) -> None:
    kept = vault.encrypt("c1", SECRET)

    assert vault.decrypt("c1", kept) == SECRET
    assert "sesame" not in str(kept)
    assert kept != vault.encrypt("c1", SECRET)


def test_a_secret_decrypts_for_its_own_connection_only(vault: Vault) -> None:
    with pytest.raises(VaultError, match="is damaged or was altered"):
        vault.decrypt("c2", vault.encrypt("c1", SECRET))


@pytest.mark.parametrize("part", ["nonce", "sealed"])
def test_a_secret_that_was_changed_does_not_open(vault: Vault, part: str) -> None:
    kept = vault.encrypt("c1", SECRET)

    for changed in ({**kept, part: "AAAA"}, {**kept, part: "no base64"}, {k: v for k, v in kept.items() if k != part}):
        with pytest.raises(VaultError, match="is damaged or was altered"):
            vault.decrypt("c1", changed)


def test_the_key_file_is_private_and_created_once(vault: Vault) -> None:
    vault.encrypt("c1", SECRET)
    first = vault.file.read_text()
    vault.encrypt("c2", SECRET)

    assert vault.file.stat().st_mode & 0o777 == 0o600
    assert vault.file.read_text() == first
    assert [each.name for each in vault.file.parent.iterdir()] == ["secrets.key"]


def test_a_missing_key_is_not_created_anew_to_open_a_secret(vault: Vault) -> None:
    kept = vault.encrypt("c1", SECRET)
    vault.file.unlink()

    with pytest.raises(VaultError, match="restore it, or enter the secrets again"):
        vault.decrypt("c1", kept)
    assert not vault.file.exists()


def test_a_secret_of_another_key_is_reported_as_such(vault: Vault) -> None:
    kept = vault.encrypt("c1", SECRET)
    vault.file.write_text("00" * 32)

    with pytest.raises(VaultError, match="encrypted with a key that is not in"):
        vault.decrypt("c1", kept)


@pytest.mark.parametrize("text", ["", "no hexadecimal", "00" * 31])
def test_an_invalid_key_file_is_refused(vault: Vault, text: str) -> None:
    vault.file.parent.mkdir()
    vault.file.write_text(text)

    with pytest.raises(VaultError, match=r"secrets\.key"):
        vault.encrypt("c1", SECRET)


def test_encryption_without_a_vault_is_refused() -> None:
    with pytest.raises(VaultError):
        NO_VAULT.encrypt("c1", SECRET)
