"""The commands of logins, on the deployment's own log: it tells who came and went. What they write are documents."""

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
    """What is kept of a password, under an id of its own: a new password is a new document."""

    id: str
    hash: str


def _may_log_in(
    principal: PrincipalId, login: str, password: Password | None, before: Mapping[str, Any] | None = None
) -> tuple[DocumentPut, ...]:
    """Return what is written for a login name, new or kept as `before` for this user, and its password, if any."""
    known = {"principal": principal, "password": password.id if password else None}
    named = DocumentPut("login", login, known, new=before is None, expected=before)
    if password is None:
        return (named,)
    return (named, DocumentPut("password", password.id, {"principal": principal, "hash": password.hash}, new=True))


@dataclass(frozen=True, slots=True)
class RegisterUser:
    """A new user of the deployment, who is nobody in any organization yet. There is no password without a `login`.

    `verified` is an address that somebody answerable says is theirs: who proves it elsewhere is this user.
    `subject` is whom a provider knows them as.
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
        """Only the deployment registers somebody, when it has seen who they are."""
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
    """The user has this password from now on, and no other. `user` is their document as it will be, with the login name.

    `before` is the document of the name, if it was theirs already. `sessions` are those that end with the old password:
    read when the command is decided, so that none that began meanwhile goes on.
    """

    principal: PrincipalId
    password: Password
    user: Mapping[str, Any]
    before: Mapping[str, Any] | None
    sessions: Callable[[], Iterable[str]]
    name: str = "user.set_password"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Everybody their own, and the deployment anybody's."""
        _oneself(view, self.principal)
        written = _may_log_in(self.principal, self.user["login"], self.password, self.before)
        old = self.before["password"] if self.before else None
        over = (DocumentPut("password", old, None),) if old else ()
        user = DocumentPut("user", self.principal, self.user)
        return CommandEffect((), (*written, *over, user, *_build_session_erasures(self.sessions())))


@dataclass(frozen=True, slots=True)
class LinkSubject:
    """Who proves to be that subject at a provider is this user from now on. `user` is their document as it will be."""

    principal: PrincipalId
    subject: str
    user: Mapping[str, Any]
    name: str = "user.link_subject"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment, when it has seen the proof."""
        if view.caller is not None:
            raise InvalidError("the deployment links people to a provider, when it has seen who they are")
        mine = {"principal": self.principal}
        return CommandEffect(
            (),
            (DocumentPut("subject", self.subject, mine, new=True), DocumentPut("user", self.principal, self.user)),
        )


@dataclass(frozen=True, slots=True)
class StartSession:
    """A user has logged in, until `ends` (seconds since the epoch). `how` is by what.

    `let_in_by` is the session that let a device in, and ends it when it is ended.
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
        """Everybody their own."""
        _oneself(view, self.principal)
        body = {"principal": self.principal, "hash": self.hash, "ends": self.ends, "at": view.now, "how": self.how}
        origin = {} if self.let_in_by is None else {"let_in_by": self.let_in_by}
        return CommandEffect((), (DocumentPut("session", self.session, {**body, **origin, **self.told}, new=True),))


@dataclass(frozen=True, slots=True)
class EndSessions:
    """Sessions of one user are over, at once. They are read when the command is decided, as in `SetPassword`."""

    principal: PrincipalId
    sessions: Callable[[], Iterable[str]]
    name: str = "session.end"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Everybody their own, and the deployment anybody's."""
        _oneself(view, self.principal)
        return CommandEffect((), _build_session_erasures(self.sessions()))


def _build_session_erasures(sessions: Iterable[str]) -> tuple[DocumentPut, ...]:
    return tuple(DocumentPut("session", each, None) for each in sessions)


def _oneself(view: CommandContext, principal: PrincipalId) -> None:
    if view.caller is not None and view.caller.principal != principal:
        raise InvalidError("logins are everybody's own")
