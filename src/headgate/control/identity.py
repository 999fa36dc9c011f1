"""From a secret to who is asking: tokens of principals, and the identities of runs."""

import hmac
import secrets
import threading

from headgate.control.control import Control
from headgate.control.ports import Store
from headgate.control.tokens import matches, read
from headgate.decision.asked import not_standing
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, RunId

_RUN_PREFIX = "hgr"


class Identity:
    """Knows callers by what they present. Keeps the secrets of runs in memory: they end with the run or the process."""

    def __init__(self, control: Control, store: Store) -> None:
        self._control = control
        self._store = store
        self._lock = threading.Lock()
        self._runs: dict[RunId, tuple[str, PrincipalId]] = {}
        self._checked: dict[str, Caller] = {}

    def authenticate(self, text: str) -> Caller | None:
        """Return who presents this token now, or None. Read on every call: a revoked token is nobody at once."""
        caller = self._run(text) if text.startswith(f"{_RUN_PREFIX}.") else self._token(text)
        if caller is None or not_standing(self._control.snapshot, caller, self._control.now):
            self._checked.pop(text, None)
            return None
        return caller

    def open_run(self, run: RunId, run_as: PrincipalId) -> str:
        """Return the secret of a run that has started."""
        secret = secrets.token_urlsafe(32)
        with self._lock:
            self._runs[run] = (secret, run_as)
        return f"{_RUN_PREFIX}.{run}.{secret}"

    def close_run(self, run: RunId) -> None:
        """Forget the secret of a run."""
        with self._lock:
            self._runs.pop(run, None)

    def _run(self, text: str) -> Caller | None:
        _, _, rest = text.partition(".")
        run, _, secret = rest.partition(".")
        known = self._runs.get(RunId(run))
        if known is None or not hmac.compare_digest(known[0].encode(), secret.encode()):
            return None
        return Caller(known[1], run=RunId(run))

    def _token(self, text: str) -> Caller | None:
        cached = self._checked.get(text)
        if cached is not None:
            return cached
        parts = read(text)
        facts = self._control.snapshot
        if parts is None or parts[0] not in facts.tokens:
            return None
        document = self._store.document("token", parts[0])
        if document is None or not matches(document, parts[1]):
            return None
        caller = Caller(facts.tokens[parts[0]].principal, token=parts[0])
        with self._lock:
            # Only a hash that has matched is remembered; whether the token still stands is read each time.
            self._checked[text] = caller
        return caller
