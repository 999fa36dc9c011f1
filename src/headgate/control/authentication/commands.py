"""Commands for users, passwords and sessions, in the deployment's own log, which is their audit; they write documents."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headgate.control.authentication.email_addresses import address_documents
from headgate.control.identity.principals import SignUp
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.login_normalization import domain_of
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.ids import PrincipalId


@dataclass(frozen=True, slots=True)
class Password:
    """The stored hash of a password, under its own id: a new password is a new document."""

    id: str
    hash: str


def _may_log_in(
    principal: PrincipalId, login: str, password: Password | None, before: Mapping[str, Any] | None = None
) -> tuple[DocumentPut, ...]:
    """Return the documents of a login name and its password, if any; `before` is the login name's document, None if it is new."""
    known = {"principal": principal, "password": password.id if password else None}
    named = DocumentPut("login", login, known, new=before is None, expected=before)
    if password is None:
        return (named,)
    return (named, DocumentPut("password", password.id, {"principal": principal, "hash": password.hash}, new=True))


@dataclass(frozen=True, slots=True)
class RegisterUser:
    """Register a user of the deployment. The user is not a member of any organization yet. A password requires a `login`.

    `verified`: the operator or a provider confirms that `email` is the user's. A login at a provider with that verified
    address is then a login of this user. `subject` is the key of the user's identity at the provider.
    """

    principal: PrincipalId
    person: str
    login: str | None = None
    password: Password | None = None
    email: str | None = None
    verified: bool = False
    subject: str | None = None
    name: str = "user.register"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment registers the user, after it has authenticated them."""
        proved = {"domain": (domain_of(self.email),)} if self.email and self.verified else dict[str, tuple[str, ...]]()
        signed_up = SignUp(self.principal, self.person, proved).decide(view)
        user = {"name": self.person, "login": self.login, "email": self.email, "subject": self.subject}
        mine = {"principal": self.principal}
        documents = [DocumentPut("user", self.principal, user, new=True)]
        if self.login:
            documents += _may_log_in(self.principal, self.login, self.password)
        if self.email and self.verified:
            documents += address_documents(self.email, self.principal)
        if self.subject:
            documents.append(DocumentPut("subject", self.subject, mine, new=True))
        return replace(signed_up, documents=(*signed_up.documents, *documents))


@dataclass(frozen=True, slots=True)
class SetPassword:
    """Set a user's password, which replaces the old one. `user` is the user's new document, with the login name.

    `before` is the document of the login name, if it was the user's already. `sessions` returns the sessions that end with
    the old password. It is called when the command is decided, so that no session that began meanwhile survives.
    """

    principal: PrincipalId
    password: Password
    user: Mapping[str, Any]
    before: Mapping[str, Any] | None
    sessions: Callable[[], Iterable[str]]
    name: str = "user.set_password"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the caller is the user, or the deployment."""
        _oneself(view, self.principal)
        written = _may_log_in(self.principal, self.user["login"], self.password, self.before)
        old = self.before["password"] if self.before else None
        over = (DocumentPut("password", old, None),) if old else ()
        user = DocumentPut("user", self.principal, self.user)
        return CommandEffect((), (*written, *over, user, *_build_session_erasures(self.sessions())))


@dataclass(frozen=True, slots=True)
class LinkSubject:
    """Link a subject at an OpenID Connect provider to a user. `user` is the user's new document."""

    principal: PrincipalId
    subject: str
    user: Mapping[str, Any]
    name: str = "user.link_subject"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment links them, after it has verified the login at the provider."""
        if view.caller is not None:
            raise InvalidError(
                "Headgate links a user to an account at the OpenID Connect provider when the user logs in there; log in at "
                "the provider"
            )
        mine = {"principal": self.principal}
        return CommandEffect(
            (),
            (DocumentPut("subject", self.subject, mine, new=True), DocumentPut("user", self.principal, self.user)),
        )


@dataclass(frozen=True, slots=True)
class StartSession:
    """Start a session of a user until `ends` (seconds since the epoch). `how` is the method of the login.

    `let_in_by` is the session that approved a device; when that session is ended, this one ends too.
    """

    session: str
    hash: str
    principal: PrincipalId
    ends: float
    how: str
    told: Mapping[str, str] = field(default_factory=dict[str, str])
    let_in_by: str | None = None
    name: str = "session.start"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the caller is the user."""
        _oneself(view, self.principal)
        body = {"principal": self.principal, "hash": self.hash, "ends": self.ends, "at": view.now, "how": self.how}
        origin = {} if self.let_in_by is None else {"let_in_by": self.let_in_by}
        return CommandEffect((), (DocumentPut("session", self.session, {**body, **origin, **self.told}, new=True),))


@dataclass(frozen=True, slots=True)
class EndSessions:
    """End sessions of one user at once. They are read when the command is decided, as in `SetPassword`."""

    principal: PrincipalId
    sessions: Callable[[], Iterable[str]]
    name: str = "session.end"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the caller is the user, or the deployment."""
        _oneself(view, self.principal)
        return CommandEffect((), _build_session_erasures(self.sessions()))


def _build_session_erasures(sessions: Iterable[str]) -> tuple[DocumentPut, ...]:
    return tuple(DocumentPut("session", each, None) for each in sessions)


def _oneself(view: CommandContext, principal: PrincipalId) -> None:
    if view.caller is not None and view.caller.principal != principal:
        raise InvalidError(
            "users may change only their own password and sessions; log in as the user whose password or "
            "sessions you want to change"
        )
