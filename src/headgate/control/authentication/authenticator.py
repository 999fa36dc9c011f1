"""Authentication: maps a secret (a token, a session, an access token, the secret of a run) to its principal."""

import threading
from collections.abc import Callable

from headgate.control.authentication.secrets import ACCESS
from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.control.identity.tokens import TOKEN_PREFIX, matches, parse_token
from headgate.control.kernel.stores import Stores
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.pipelines.runs import SECRET
from headgate.facts.ids import PrincipalId, RunId

_RUN_PREFIX = "hgr"


Logins = Callable[[str], PrincipalId | None]
"""Returns the user of a session secret now, or None if no session has it."""

Access = Callable[[str], AuthenticatedPrincipal | None]
"""Returns the principal of an access token now, or None if the token is unknown or expired."""


def _no_access(_: str) -> AuthenticatedPrincipal | None:
    return None


def format_run_secret(run: RunId, secret: str) -> str:
    """Return the secret of a run in the form in which its session presents it."""
    return f"{_RUN_PREFIX}.{run}.{secret}"


class Authenticator:
    """Maps presented secrets to principals.

    Whether a token or a run is still valid is not checked here: that is a fact of the organization, in its snapshot. The
    deployment's own log is not an organization: no token or run secret of that log is accepted.
    """

    def __init__(self, stores: Stores, logins: Logins, access: Access = _no_access) -> None:
        self._stores = stores
        self._logins = logins
        self._access = access
        self._lock = threading.Lock()
        self._checked: dict[str, AuthenticatedPrincipal] = {}

    def authenticate(self, text: str) -> AuthenticatedPrincipal | None:
        """Return the principal of a secret, or None."""
        prefix, _, rest = text.partition(".")
        if prefix == TOKEN_PREFIX:
            return self._token(text)
        if prefix == _RUN_PREFIX:
            return self._run(rest)
        if prefix == ACCESS:
            return self._access(text)
        principal = self._logins(text)
        return AuthenticatedPrincipal(principal, None) if principal else None

    def cached(self, text: str) -> AuthenticatedPrincipal | None:
        """Return the principal of a token from the cache, without the store; None if it was not looked up before."""
        return self._checked.get(text)

    def _run(self, rest: str) -> AuthenticatedPrincipal | None:
        # Looked up each time: a worker that takes over a run, in any process, revokes the secret of the previous attempt.
        run, _, secret = rest.rpartition(".")
        found = self._stores.find(SECRET, run)
        if found is None or found[0] == DEPLOYMENT or not matches(found[1], secret):
            return None
        return AuthenticatedPrincipal(PrincipalId(str(found[1]["principal"])), found[0], run=RunId(run))

    def _token(self, text: str) -> AuthenticatedPrincipal | None:
        cached = self._checked.get(text)
        if cached is not None:
            return cached
        parts = parse_token(text)
        found = self._stores.find("token", parts[0]) if parts else None
        if parts is None or found is None or found[0] == DEPLOYMENT or not matches(found[1], parts[1]):
            return None
        presented = AuthenticatedPrincipal(PrincipalId(str(found[1]["principal"])), found[0], token=parts[0])
        with self._lock:
            # Only a match of the hash is cached; whether the token is still valid is checked at each request.
            if len(self._checked) >= _REMEMBERED:
                self._checked.clear()
            self._checked[text] = presented
        return presented


_REMEMBERED = 100_000
"""The maximum number of cached tokens; beyond it the cache is cleared, which costs one lookup for each token."""
