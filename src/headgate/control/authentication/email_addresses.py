"""Verified e-mail addresses: the user of each one, and which addresses are too similar for two users."""

from headgate.control.kernel.login_normalization import address_skeleton, normalize_address
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.facts.ids import PrincipalId

ADDRESS, LOOK = "email", "email_look"
"""Kinds of documents: the user of an address, and the user of its skeleton, which similar addresses share."""


def address_documents(address: str, principal: PrincipalId) -> tuple[DocumentPut, DocumentPut]:
    """Return the documents of a new user's verified address; the write fails if one of them exists."""
    mine = {"principal": principal}
    return DocumentPut(ADDRESS, address, mine, new=True), DocumentPut(LOOK, address_skeleton(address), mine, new=True)


class EmailAddresses:
    """Finds users by addresses that the operator or a provider has verified."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, text: str) -> PrincipalId | None:
        """Return the user of exactly this address, or None. Raises `InvalidError` for an invalid address."""
        wanted = normalize_address(text)
        return self._user(ADDRESS, wanted) or self._former(wanted)

    def is_like_another(self, text: str) -> bool:
        """Return whether the address belongs to a user, or looks like a user's address. Raises `InvalidError`."""
        seen = address_skeleton(normalize_address(text))
        # Earlier versions stored a document under the skeleton only.
        return any(self._store.document(kind, seen) is not None for kind in (LOOK, ADDRESS))

    def _former(self, wanted: str) -> PrincipalId | None:
        """Return the user whose document an earlier version stored under the skeleton, if the address is the same."""
        seen = address_skeleton(wanted)
        return self._user(ADDRESS, seen) if normalize_address(seen) == wanted else None

    def _user(self, kind: str, id: str) -> PrincipalId | None:
        found = self._store.document(kind, id)
        return PrincipalId(found["principal"]) if found else None
