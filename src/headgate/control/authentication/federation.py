"""Users whom somebody else knows: an OpenID Connect provider has said who they are."""

import hashlib
from dataclasses import dataclass

from headgate.control.authentication.commands import LinkSubject, RegisterUser
from headgate.control.authentication.email_addresses import EmailAddresses
from headgate.control.authentication.errors import LoginError
from headgate.control.control import Control
from headgate.control.kernel.errors import AlreadyExistsError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.login_normalization import domain_name, domain_of, normalize_address
from headgate.control.kernel.ports import DocumentConflictError, Store
from headgate.facts.ids import PrincipalId


@dataclass(frozen=True, slots=True)
class ExternalIdentity:
    """Who somebody is at a provider. `email` is an address that the provider has verified, or None."""

    issuer: str
    subject: str
    email: str | None
    name: str

    @property
    def key(self) -> str:
        """What they are kept under: the one at this issuer and no other."""
        return hashlib.sha256(f"{len(self.issuer)}:{self.issuer}{self.subject}".encode()).hexdigest()


class ExternalIdentities:
    """Which user of the deployment somebody is who has proved who they are to a provider."""

    def __init__(self, control: Control, store: Store, join: frozenset[str]) -> None:
        self._control = control
        self._store = store
        self._join = frozenset(map(domain_name, join))
        self._addresses = EmailAddresses(store)

    def user(self, who: ExternalIdentity) -> PrincipalId:
        """Return the user they are: linked before, or of the same verified address, or new if that may join.

        Raises `LoginError` if they have no user here and may not join.
        """
        try:
            return self._find_user(who) or self._link_user(who) or self._register_user(who)
        except DocumentConflictError:
            # Two windows of the same person; the other one was faster.
            found = self._find_user(who)
            if found is None:
                raise AlreadyExistsError("that address was taken at the same moment; log in again") from None
            return found

    def _find_user(self, who: ExternalIdentity) -> PrincipalId | None:
        found = self._store.document("subject", who.key)
        return PrincipalId(found["principal"]) if found else None

    def _link_user(self, who: ExternalIdentity) -> PrincipalId | None:
        principal = self._addresses.find(who.email) if who.email else None
        if principal is None:
            return None
        user = self._store.document("user", principal) or {}
        if user.get("subject"):
            # Addresses are given to somebody else in time; what the first one had is not for the second.
            raise LoginError("the user of this address is known as somebody else at the provider; ask the operator")
        self._control.execute(LinkSubject(principal, who.key, {**user, "subject": who.key}), None)
        return principal

    def _register_user(self, who: ExternalIdentity) -> PrincipalId:
        email = normalize_address(who.email) if who.email else None
        if email is None or domain_of(email) not in self._join:
            raise LoginError(
                "the provider knows you, but you have no user here; ask an owner of the organization for an invitation"
            )
        if self._addresses.is_like_another(email):
            raise LoginError("your address at the provider looks like that of another user here; ask the operator")
        new = RegisterUser(PrincipalId(new_id("p")), who.name, email=email, verified=True, subject=who.key)
        self._control.execute(new, None)
        return new.principal
