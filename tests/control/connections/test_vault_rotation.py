"""Rotation of the vault's key: every secret can be decrypted at every moment."""

import errno
import os
import time
from pathlib import Path

import pytest

from headgate.control.connections.commands import SECRET
from headgate.control.connections.vault import Vault, VaultError
from headgate.control.connections.vault_rotation import VaultRotation, reencrypt_new_secret
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.ids import PrincipalId, ResourceId
from tests.fakes.store import FakeStores
from tests.threads import call_at_once

SECRETS = {"c1": {"password": "one"}, "c2": {"password": "two"}}


class Deployment:
    """Two organizations with a connection each, and the vault of both."""

    def __init__(self, folder: Path) -> None:
        self.vault = Vault(folder / "secrets.key")
        self.organizations = open_organizations(FakeStores(), time.time, "nekt")
        for number, id in enumerate(SECRETS):
            owner = PrincipalId(f"p{number}")
            organization = create_organization(
                self.organizations, OrganizationSpec(ResourceId(f"o{number}"), f"o{number}", owner, "owner", "nekt")
            )
            organization.store.put_document(DocumentPut(SECRET, id, dict(self.vault.encrypt(id, SECRETS[id]))))
        self.rotation = VaultRotation(self.organizations, self.vault)

    def decrypted(self) -> dict[str, object]:
        """Return every decrypted secret."""
        kept = [pair for each in self.organizations.list_all() for pair in each.store.documents(SECRET).items()]
        return {id: self.vault.decrypt(id, encrypted) for id, encrypted in kept}


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path)


def test_every_secret_decrypts_at_each_step_of_a_rotation(deployment: Deployment) -> None:
    former = deployment.vault.file.read_text().split()
    deployment.vault.add_key()
    assert deployment.decrypted() == SECRETS
    for each in list(deployment.rotation.find_outdated()):
        assert not deployment.rotation.finish()
        deployment.rotation.reencrypt(each)
        assert deployment.decrypted() == SECRETS

    assert deployment.rotation.finish()
    assert deployment.decrypted() == SECRETS
    (key,) = deployment.vault.file.read_text().split()
    assert key not in former
    assert deployment.vault.file.stat().st_mode & 0o777 == 0o600


def test_an_interrupted_rotation_continues_with_the_same_key(deployment: Deployment) -> None:
    deployment.vault.add_key()
    deployment.rotation.reencrypt(next(deployment.rotation.find_outdated()))

    again = VaultRotation(deployment.organizations, Vault(deployment.vault.file))
    for each in list(again.find_outdated()):
        again.reencrypt(each)

    assert again.finish()
    assert deployment.decrypted() == SECRETS
    assert deployment.vault.former_keys == ()


def test_a_secret_that_is_changed_while_it_is_reencrypted_keeps_the_change(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment.vault.add_key()
    each = next(deployment.rotation.find_outdated())
    encrypt, store = Vault.encrypt, each.organization.store

    def changed_meanwhile(vault: Vault, id: str, secret: object) -> object:
        monkeypatch.setattr(Vault, "encrypt", encrypt)
        store.put_document(DocumentPut(SECRET, id, dict(vault.encrypt(id, {"password": "new"}))))
        return vault.encrypt(id, secret)  # type: ignore[arg-type]

    monkeypatch.setattr(Vault, "encrypt", changed_meanwhile)
    deployment.rotation.reencrypt(each)

    assert deployment.decrypted()[each.connection] == {"password": "new"}


def test_a_secret_of_an_unknown_key_keeps_the_former_keys_in_the_file(deployment: Deployment, tmp_path: Path) -> None:
    other = Vault(tmp_path / "other.key")
    organization = deployment.organizations.list_all()[0]
    organization.store.put_document(DocumentPut(SECRET, "c3", dict(other.encrypt("c3", {"password": "three"}))))
    deployment.vault.add_key()

    faults = 0
    for each in list(deployment.rotation.find_outdated()):
        try:
            deployment.rotation.reencrypt(each)
        except VaultError:
            faults += 1

    assert faults == 1
    assert not deployment.rotation.finish()
    assert len(deployment.vault.former_keys) == 1


def test_a_rotation_that_begins_while_another_ends_loses_no_key(deployment: Deployment) -> None:
    deployment.vault.add_key()
    for each in list(deployment.rotation.find_outdated()):
        deployment.rotation.reencrypt(each)
    former = deployment.vault.former_keys

    deployment.vault.add_key()
    deployment.vault.remove_keys(former)

    assert deployment.decrypted() == SECRETS
    assert len(deployment.vault.former_keys) == 1


def test_a_secret_that_was_encrypted_before_a_rotation_and_written_after_it_decrypts(deployment: Deployment) -> None:
    store, vault = deployment.organizations.open(ResourceId("o0")).store, deployment.vault
    encrypted = vault.encrypt("c1", {"password": "new"})
    rotate(deployment)
    store.put_document(DocumentPut(SECRET, "c1", dict(encrypted)))

    reencrypt_new_secret(store, vault, "c1", encrypted, {"password": "new"})

    assert deployment.decrypted()["c1"] == {"password": "new"}


def test_a_repeated_request_does_not_replace_a_secret_that_was_changed_since(deployment: Deployment) -> None:
    store, vault = deployment.organizations.open(ResourceId("o0")).store, deployment.vault
    repeated = vault.encrypt("c1", {"password": "old"})
    vault.add_key()

    reencrypt_new_secret(store, vault, "c1", repeated, {"password": "old"})

    assert deployment.decrypted() == SECRETS


def test_keys_that_are_added_at_once_are_all_stored(deployment: Deployment) -> None:
    before = deployment.vault.file.read_text().split()

    call_at_once([Vault(deployment.vault.file).add_key] * 8)

    assert len(deployment.vault.file.read_text().split()) == len(before) + 8
    assert deployment.decrypted() == SECRETS


def test_a_key_that_cannot_be_written_leaves_no_file(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(VaultError, match="No space left"):
        deployment.vault.add_key()

    folder = deployment.vault.file.parent
    assert {each.name for each in folder.iterdir()} == {"secrets.key", ".secrets.key.lock"}
    assert deployment.decrypted() == SECRETS


def rotate(deployment: Deployment) -> None:
    deployment.vault.add_key()
    for each in list(deployment.rotation.find_outdated()):
        deployment.rotation.reencrypt(each)
    assert deployment.rotation.finish()
