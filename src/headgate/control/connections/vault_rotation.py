"""A new key for the secrets of connections: each is sealed with it again, and then the former keys are removed."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from headgate.control.connections.commands import SECRET
from headgate.control.connections.vault import Vault
from headgate.control.kernel.ports import DocumentConflictError, DocumentPut, Store
from headgate.control.organizations.organization import Organization, Organizations


@dataclass(frozen=True, slots=True)
class EncryptedSecret:
    """A connection whose secret is sealed with a former key."""

    organization: Organization
    connection: str


def reencrypt_new_secret(
    store: Store, vault: Vault, connection: str, sealed: Mapping[str, str], secret: Mapping[str, str]
) -> None:
    """Seal a secret that was just written again, where a rotation has replaced the key since it was sealed.

    The rotation may have ended before the secret was written, and so has not seen it. Raises `VaultError`.
    """
    if vault.is_current(sealed) or store.document(SECRET, connection) != sealed:
        return
    with suppress(DocumentConflictError):  # another request has changed it meanwhile
        store.put_document(DocumentPut(SECRET, connection, vault.encrypt(connection, secret), expected=sealed))


class VaultRotation:
    """Seals the secrets of all organizations again. It can be interrupted: a secret that waits opens with its former key."""

    def __init__(self, organizations: Organizations, vault: Vault) -> None:
        self._organizations = organizations
        self._vault = vault

    def find_outdated(self) -> Iterator[EncryptedSecret]:
        """Yield the connections whose secrets are sealed with a former key. Raises `VaultError`."""
        for organization in self._organizations.list_all():
            for connection, kept in organization.store.documents(SECRET).items():
                if not self._vault.is_current(kept):
                    yield EncryptedSecret(organization, connection)

    def reencrypt(self, secret: EncryptedSecret) -> None:
        """Seal one secret with the key that seals now. Raises `VaultError` for one that does not open."""
        store, id = secret.organization.store, secret.connection
        kept = store.document(SECRET, id)
        if kept is None or self._vault.is_current(kept):
            return
        sealed = self._vault.encrypt(id, self._vault.decrypt(id, kept))
        try:
            store.put_document(DocumentPut(SECRET, id, sealed, expected=kept))
        except DocumentConflictError:
            # The secret was changed meanwhile, and so sealed with the new key already, or its connection is gone.
            return

    def finish(self) -> bool:
        """Remove the former keys if no secret needs them any more; return whether they are gone. Raises `VaultError`."""
        # Before it is asked what they seal: a rotation that begins meanwhile adds keys that are not among these.
        former = self._vault.former_keys
        if next(self.find_outdated(), None) is not None:
            return False
        self._vault.remove_keys(former)
        return True
