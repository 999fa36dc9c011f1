"""Key rotation for the secrets of connections: encrypts each secret with the new key, then removes the former keys."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from headgate.control.connections.commands import SECRET
from headgate.control.connections.vault import Vault
from headgate.control.kernel.ports import DocumentConflictError, DocumentPut, Store
from headgate.control.organizations.organization import Organization, Organizations


@dataclass(frozen=True, slots=True)
class OutdatedSecret:
    """A connection whose secret is encrypted with a former key."""

    organization: Organization
    connection: str


def reencrypt_new_secret(
    store: Store, vault: Vault, connection: str, encrypted: Mapping[str, str], secret: Mapping[str, str]
) -> None:
    """Encrypt a secret again that was just written, if a rotation has replaced the key since it was encrypted.

    The rotation may have ended before the secret was written, and so have missed it. Raises `VaultError`.
    """
    if vault.is_current(encrypted) or store.document(SECRET, connection) != encrypted:
        return
    with suppress(DocumentConflictError):  # another request has changed it meanwhile
        store.put_document(DocumentPut(SECRET, connection, vault.encrypt(connection, secret), expected=encrypted))


class VaultRotation:
    """Encrypts the secrets of all organizations with the newest key. It can be interrupted: the former keys still decrypt."""

    def __init__(self, organizations: Organizations, vault: Vault) -> None:
        self._organizations = organizations
        self._vault = vault

    def find_outdated(self) -> Iterator[OutdatedSecret]:
        """Yield the connections whose secrets are encrypted with a former key. Raises `VaultError`."""
        for organization in self._organizations.list_all():
            for connection, kept in organization.store.documents(SECRET).items():
                if not self._vault.is_current(kept):
                    yield OutdatedSecret(organization, connection)

    def reencrypt(self, secret: OutdatedSecret) -> None:
        """Encrypt one secret with the newest key. Raises `VaultError` for one that cannot be decrypted."""
        store, id = secret.organization.store, secret.connection
        kept = store.document(SECRET, id)
        if kept is None or self._vault.is_current(kept):
            return
        encrypted = self._vault.encrypt(id, self._vault.decrypt(id, kept))
        try:
            store.put_document(DocumentPut(SECRET, id, encrypted, expected=kept))
        except DocumentConflictError:
            # The secret was changed meanwhile, and so is encrypted with the new key already, or its connection was deleted.
            return

    def finish(self) -> bool:
        """Remove the former keys if no secret needs them any more; return whether they were removed. Raises `VaultError`."""
        # Read before the search for outdated secrets: a rotation that begins meanwhile adds keys that are not in this list.
        former = self._vault.former_keys
        if next(self.find_outdated(), None) is not None:
            return False
        self._vault.remove_keys(former)
        return True
