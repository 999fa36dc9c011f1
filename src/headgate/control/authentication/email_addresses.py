"""The addresses of users that were verified: which user has one, and which are too much alike for two users."""

from headgate.control.kernel.login_normalization import address_skeleton, normalize_address
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.facts.ids import PrincipalId

ADDRESS, LOOK = "email", "email_look"
"""Kinds of documents: the user of an address, and of everything that looks like it."""


def address_documents(address: str, principal: PrincipalId) -> tuple[DocumentPut, DocumentPut]:
    """Return what is written for the verified address of a new user; neither may be there already."""
    mine = {"principal": principal}
    return DocumentPut(ADDRESS, address, mine, new=True), DocumentPut(LOOK, address_skeleton(address), mine, new=True)


class EmailAddresses:
    """Finds users by the address that the operator or a provider answers for."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, text: str) -> PrincipalId | None:
        """Return the user of exactly this address, or None. Raises `InvalidError` for what cannot be one."""
        wanted = normalize_address(text)
        return self._user(ADDRESS, wanted) or self._former(wanted)

    def is_like_another(self, text: str) -> bool:
        """Return whether the address is a user's, or looks like that of one. Raises `InvalidError`."""
        seen = address_skeleton(normalize_address(text))
        # Versions before kept a document under the look alone.
        return any(self._store.document(kind, seen) is not None for kind in (LOOK, ADDRESS))

    def _former(self, wanted: str) -> PrincipalId | None:
        """Return the user whose document a former version kept under the look, if that is the same address."""
        seen = address_skeleton(wanted)
        return self._user(ADDRESS, seen) if normalize_address(seen) == wanted else None

    def _user(self, kind: str, id: str) -> PrincipalId | None:
        found = self._store.document(kind, id)
        return PrincipalId(found["principal"]) if found else None
