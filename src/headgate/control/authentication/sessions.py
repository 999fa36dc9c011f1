"""Sessions: after a login a user presents the session's secret instead of a password, until the session ends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.control.authentication.commands import EndSessions, StartSession
from headgate.control.authentication.secrets import SESSION, generate, parse_secret
from headgate.control.control import Control
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.ports import DocumentPut, Store
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a user. Times in seconds since the epoch; `how` is the login method, `told` the client's description of itself."""

    id: str
    principal: PrincipalId
    at: float
    ends: float
    how: str
    told: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has just begun, with its secret, which is stored nowhere."""

    secret: str
    session: Session


class Sessions:
    """The sessions of a deployment. An ended session is invalid at once on every replica.

    A replica learns of the end from the log, which the endpoints read before they answer.
    """

    def __init__(self, control: Control, store: Store, length: float) -> None:
        self._control = control
        self._store = store
        self._length = length
        self._kept: tuple[int, dict[str, Mapping[str, Any]]] = (0, {})

    def start(
        self, principal: PrincipalId, how: str, told: Mapping[str, str] | None = None, let_in_by: str | None = None
    ) -> NewSession:
        """Start a session for an authenticated user, or for a device that the session `let_in_by` approved."""
        credential, now = generate(new_id("s")), self._control.now
        session = Session(credential.id, principal, now, now + self._length, how, told or {})
        started = StartSession(session.id, credential.hash, principal, session.ends, how, session.told, let_in_by)
        self._control.execute(started, Caller(principal))
        return NewSession(credential.format(SESSION), session)

    def find(self, secret: str) -> Session | None:
        """Return the session of this secret, or None if it is unknown or has ended."""
        credential = parse_secret(SESSION, secret)
        if credential is None:
            return None
        body = self._body(credential.id)
        return self._parse_active(credential.id, body) if body is not None and credential.matches(body) else None

    def by_id(self, id: str) -> Session | None:
        """Return a session by its id, or None if it is unknown or has ended."""
        body = self._store.document("session", id)
        return None if body is None else self._parse_active(id, body)

    def of(self, principal: PrincipalId) -> tuple[Session, ...]:
        """Return the sessions of a user, newest first."""
        found = (self._parse_active(id, body) for id, body in self._store.documents("session").items())
        mine = (each for each in found if each and each.principal == principal)
        return tuple(sorted(mine, key=lambda each: each.at, reverse=True))

    def end(self, principal: PrincipalId, *sessions: str) -> None:
        """End sessions of a user, with those of the devices that they approved."""
        if sessions:
            ended = EndSessions(principal, lambda: self._with_devices(principal, sessions))
            self._control.execute(ended, Caller(principal))

    def tidy(self) -> None:
        """Erase expired sessions. They are refused without that too."""
        now = self._control.now
        for id, body in self._store.documents("session").items():
            if body["ends"] <= now:
                self._store.put_document(DocumentPut("session", id, None))

    def _with_devices(self, principal: PrincipalId, sessions: Iterable[str]) -> set[str]:
        """Return the sessions, the device sessions that they approved, those that these approved, and so on."""
        bodies = self._store.documents("session").items()
        let_in = {id: body.get("let_in_by") for id, body in bodies if body["principal"] == principal}
        found, more = set[str](), set(sessions)
        while more:
            found |= more
            more = {id for id, by in let_in.items() if by in more} - found
        return found

    def _body(self, id: str) -> Mapping[str, Any] | None:
        """Return the document of a session at the newest known revision of the log."""
        revision = self._control.snapshot.revision
        at, kept = self._kept
        if at != revision:
            # Every end of a session writes a log entry: documents that were cached at an older revision may be outdated.
            kept = dict[str, Mapping[str, Any]]()
            self._kept = (revision, kept)
        body = kept.get(id) or self._store.document("session", id)
        if body is not None:
            kept[id] = body
        return body

    def _parse_active(self, id: str, body: Mapping[str, Any]) -> Session | None:
        principal = PrincipalId(body["principal"])
        known = self._control.snapshot.principals.get(principal)
        now = self._control.now
        if body["ends"] <= now or known is None or (known.ends is not None and known.ends <= now):
            return None
        told = {key: str(body[key]) for key in ("address", "agent") if key in body}
        return Session(id, principal, body["at"], body["ends"], body["how"], told)
