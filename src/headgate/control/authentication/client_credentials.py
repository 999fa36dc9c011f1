"""Access tokens: short-lived secrets that a service principal gets for one of its tokens (OAuth 2.0 client credentials).

An access token acts as the token for which it was issued, with that token's limits, and is invalid as soon as that token
has expired or is revoked.
"""

from dataclasses import dataclass

from headgate.control.authentication.errors import LoginError
from headgate.control.authentication.secrets import ACCESS, generate, parse_secret
from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.control.identity.tokens import matches
from headgate.control.identity.tokens import parse_token as read_token
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.ports import DocumentPut
from headgate.control.organizations.organization import Organizations
from headgate.facts.ids import PrincipalId, TokenId

_WRONG = (
    "the client id and secret are not the id and a valid token of a service principal; send the service principal's "
    "id with one of its tokens that has not expired"
)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An access token, and its lifetime in seconds."""

    secret: str
    seconds: float


class AccessTokens:
    """The access tokens of a deployment's service principals, each stored as a document of its organization."""

    def __init__(self, organizations: Organizations, length: float) -> None:
        self._organizations = organizations
        self._length = length

    def issue(self, client: str, secret: str) -> AccessToken:
        """Return an access token for the service principal `client`. Raises `LoginError` if `secret` is not a token of it."""
        found = self._token(secret)
        if found is None or found.organization is None or found.principal != client:
            raise LoginError(_WRONG)
        organization = self._organizations.open(found.organization)
        principal = organization.control.snapshot.principals.get(found.principal)
        if principal is None or principal.kind != "service_principal" or organization.caller(found) is None:
            raise LoginError(_WRONG)
        credential, ends = generate(new_id("a")), self._organizations.now + self._length
        body = {"principal": found.principal, "token": found.token, "hash": credential.hash, "ends": ends}
        organization.store.put_document(DocumentPut("access_token", credential.id, body))
        return AccessToken(credential.format(ACCESS), self._length)

    def authenticate(self, text: str) -> AuthenticatedPrincipal | None:
        """Return the principal of an access token, or None. The organization checks whether the underlying token is valid."""
        credential = parse_secret(ACCESS, text)
        found = self._organizations.stores.find("access_token", credential.id) if credential else None
        if credential is None or found is None or not credential.matches(found[1]):
            return None
        root, body = found
        if body["ends"] <= self._organizations.now:
            return None
        return AuthenticatedPrincipal(
            PrincipalId(body["principal"]), root, token=TokenId(body["token"]), is_access_token=True
        )

    def _token(self, secret: str) -> AuthenticatedPrincipal | None:
        parts = read_token(secret)
        found = self._organizations.stores.find("token", parts[0]) if parts else None
        if parts is None or found is None or not matches(found[1], parts[1]):
            return None
        return AuthenticatedPrincipal(PrincipalId(str(found[1]["principal"])), found[0], token=parts[0])

    def tidy(self) -> None:
        """Erase expired access tokens. They are refused without that too."""
        for organization in self._organizations.readable():
            for id, body in organization.store.documents("access_token").items():
                if body["ends"] <= self._organizations.now:
                    organization.store.put_document(DocumentPut("access_token", id, None))
