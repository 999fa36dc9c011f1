"""Federated login: users that an OpenID Connect provider has authenticated."""

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
    """The identity of a user at a provider. `email` is an address that the provider has verified, or None."""

    issuer: str
    subject: str
    email: str | None
    name: str

    @property
    def key(self) -> str:
        """The id of the identity's document: a hash of issuer and subject, so that two issuers cannot collide."""
        return hashlib.sha256(f"{len(self.issuer)}:{self.issuer}{self.subject}".encode()).hexdigest()


class ExternalIdentities:
    """Maps identities at a provider to users of the deployment."""

    def __init__(self, control: Control, store: Store, join: frozenset[str]) -> None:
        self._control = control
        self._store = store
        self._join = frozenset(map(domain_name, join))
        self._addresses = EmailAddresses(store)

    def user(self, who: ExternalIdentity) -> PrincipalId:
        """Return the user of an identity: the linked one, the one with the same verified address, or a new one.

        A new user is registered only if the domain of the address may join. Otherwise raises `LoginError`.
        """
        try:
            return self._find_user(who) or self._link_user(who) or self._register_user(who)
        except DocumentConflictError:
            # Two concurrent logins of the same user; the other one was faster.
            found = self._find_user(who)
            if found is None:
                raise AlreadyExistsError(
                    "another login with the same e-mail address completed at the same time; log in again"
                ) from None
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
            # An address may be given to another person later; that person must not get the first one's access.
            raise LoginError(
                "the user with your address is linked to another account at the provider; ask the operator of this deployment"
            )
        self._control.execute(LinkSubject(principal, who.key, {**user, "subject": who.key}), None)
        return principal

    def _register_user(self, who: ExternalIdentity) -> PrincipalId:
        email = normalize_address(who.email) if who.email else None
        if email is None:
            raise LoginError(
                "the provider has authenticated you, but it does not report a verified e-mail address; ask the operator of "
                "this deployment to check your account at the provider"
            )
        if domain_of(email) not in self._join:
            raise LoginError(
                "the provider has authenticated you, but no user of this deployment has your e-mail address; ask the "
                "operator of this deployment to create a user with it"
            )
        if self._addresses.is_like_another(email):
            raise LoginError(
                "your address at the provider looks like the address of another user; ask the operator of this deployment"
            )
        new = RegisterUser(PrincipalId(new_id("p")), who.name, email=email, verified=True, subject=who.key)
        self._control.execute(new, None)
        return new.principal
