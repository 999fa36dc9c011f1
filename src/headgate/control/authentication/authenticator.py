"""From a secret to who is asking: tokens of principals, logins of users, and the identities of runs."""

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
"""Says whose login a session secret is, now; None for nobody's."""

Access = Callable[[str], AuthenticatedPrincipal | None]
"""Says who presents an access token, now; None for nobody."""


def _no_access(_: str) -> AuthenticatedPrincipal | None:
    return None


def format_run_secret(run: RunId, secret: str) -> str:
    """Return the secret of a run as its session presents it."""
    return f"{_RUN_PREFIX}.{run}.{secret}"


class Authenticator:
    """Knows callers by what they present.

    Whether a token or a run still stands is not said here: that is a fact of the organization, which its snapshot knows.
    The deployment's own log is no organization: no token or run secret of its own log is accepted.
    """

    def __init__(self, stores: Stores, logins: Logins, access: Access = _no_access) -> None:
        self._stores = stores
        self._logins = logins
        self._access = access
        self._lock = threading.Lock()
        self._checked: dict[str, AuthenticatedPrincipal] = {}

    def authenticate(self, text: str) -> AuthenticatedPrincipal | None:
        """Return whose secret this is, or None."""
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
        """Return whose token this is, if that was looked up before: without the store."""
        return self._checked.get(text)

    def _run(self, rest: str) -> AuthenticatedPrincipal | None:
        # Looked up each time: whoever takes a run over, in whatever process, ends the secret of the attempt before.
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
            # Only a hash that has matched is remembered; whether the token still stands is looked at each time.
            if len(self._checked) >= _REMEMBERED:
                self._checked.clear()
            self._checked[text] = presented
        return presented


_REMEMBERED = 100_000
"""So many tokens at most; then all are forgotten, which costs one look each."""
