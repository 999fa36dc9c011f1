"""The secrets of connections are sealed, and a lost or changed key is said as what it is."""

from pathlib import Path

import pytest

from headgate.control.connections.vault import NO_VAULT, Vault, VaultError

SECRET = {"password": "open sesame"}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "keys" / "secrets.key")


def test_what_is_sealed_opens_and_tells_nothing_by_itself(vault: Vault) -> None:
    kept = vault.seal("c1", SECRET)

    assert vault.open("c1", kept) == SECRET
    assert "sesame" not in str(kept)
    assert kept != vault.seal("c1", SECRET)


def test_a_secret_opens_for_its_own_connection_only(vault: Vault) -> None:
    with pytest.raises(VaultError, match="was changed"):
        vault.open("c2", vault.seal("c1", SECRET))


@pytest.mark.parametrize("part", ["nonce", "sealed"])
def test_a_secret_that_was_changed_does_not_open(vault: Vault, part: str) -> None:
    kept = vault.seal("c1", SECRET)

    for changed in ({**kept, part: "AAAA"}, {**kept, part: "no base64"}, {k: v for k, v in kept.items() if k != part}):
        with pytest.raises(VaultError, match="was changed"):
            vault.open("c1", changed)


def test_the_key_is_for_this_user_alone_and_made_once(vault: Vault) -> None:
    vault.seal("c1", SECRET)
    first = vault.file.read_text()
    vault.seal("c2", SECRET)

    assert vault.file.stat().st_mode & 0o777 == 0o600
    assert vault.file.read_text() == first
    assert [each.name for each in vault.file.parent.iterdir()] == ["secrets.key"]


def test_a_key_that_is_gone_is_not_made_anew_to_open_with(vault: Vault) -> None:
    kept = vault.seal("c1", SECRET)
    vault.file.unlink()

    with pytest.raises(VaultError, match="bring it back, or put the secrets in again"):
        vault.open("c1", kept)
    assert not vault.file.exists()


def test_another_key_is_said_to_be_another(vault: Vault) -> None:
    kept = vault.seal("c1", SECRET)
    vault.file.write_text("00" * 32)

    with pytest.raises(VaultError, match="sealed with another key"):
        vault.open("c1", kept)


@pytest.mark.parametrize("text", ["", "no hexadecimal", "00" * 31])
def test_what_is_no_key_is_refused(vault: Vault, text: str) -> None:
    vault.file.parent.mkdir()
    vault.file.write_text(text)

    with pytest.raises(VaultError, match=r"secrets\.key"):
        vault.seal("c1", SECRET)


def test_where_there_is_no_vault_nothing_is_sealed() -> None:
    with pytest.raises(VaultError):
        NO_VAULT.seal("c1", SECRET)
