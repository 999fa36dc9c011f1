"""The users of a deployment, and their authentication by password."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from headgate.control.authentication.commands import Password, RegisterUser, SetPassword
from headgate.control.authentication.email_addresses import EmailAddresses
from headgate.control.authentication.errors import LoginError, TooOftenError
from headgate.control.authentication.login_rate_limit import AttemptLimiter, client_key
from headgate.control.authentication.passwords import Passwords
from headgate.control.authentication.sessions import NewSession, Session, Sessions
from headgate.control.authentication.settings import LoginSettings
from headgate.control.control import Control
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.login_normalization import (
    login_name,
    new_login_name,
    nfkc_casefold,
    normalize_address,
    parse_existing_login,
)
from headgate.control.kernel.ports import DocumentConflictError, DocumentPut, Store
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId

_WRONG = "the login name or the password is wrong; check both and log in again"
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class User:
    """A user of the deployment: display name, login name and e-mail address, if any."""

    principal: PrincipalId
    name: str
    login: str | None
    email: str | None


class UserAccounts:
    """Users, their passwords and sessions, in the deployment's own log. Safe to use from several threads."""

    def __init__(self, control: Control, store: Store, settings: LoginSettings) -> None:
        self.settings = settings
        self.sessions = Sessions(control, store, settings.session)
        self.addresses = EmailAddresses(store)
        self._control = control
        self._store = store
        self._passwords = Passwords(settings)
        self._names = AttemptLimiter(settings.tries_of_name)
        self._addresses = AttemptLimiter(settings.tries_of_address)

    @property
    def now(self) -> float:
        """The time, in seconds since the epoch."""
        return self._control.now

    def register(
        self,
        person: str,
        *,
        login: str | None = None,
        password: str | None = None,
        email: str | None = None,
        verified: bool = False,
        principal: PrincipalId | None = None,
    ) -> PrincipalId:
        """Register a user of the deployment, with a password or for another way of authentication.

        A user with a password logs in with `login`, or with `person` if `login` is None. Raises `InvalidError` for an
        invalid name or password, `AlreadyExistsError` if the login name or address belongs to another user.
        """
        id = principal or PrincipalId(new_id("p"))
        name = new_login_name(login or person) if login or password is not None else None
        kept = (
            Password(new_id("w"), self._passwords.hash_new_password(password, name))
            if name and password is not None
            else None
        )
        mail = normalize_address(email) if email else None
        if mail and verified and self.addresses.is_like_another(mail):
            raise _build_taken_error()
        self._register(RegisterUser(id, person, name, kept, mail, verified))
        return id

    def newcomer(self, principal: PrincipalId, login: str, password: str) -> PrincipalId:
        """Register a user who registers alone, without confirmation by the operator.

        Raises `InvalidError` for an invalid name or password, and for an e-mail address as the login name, because it is
        not verified. Raises `AlreadyExistsError` if the name is taken or this user is registered already.
        """
        if "@" in nfkc_casefold(login):
            raise InvalidError(
                "an e-mail address cannot be the login name, because it is not verified; choose a login name without `@`"
            )
        return self.register(login, password=password, principal=principal)

    def users(self) -> tuple[User, ...]:
        """Return all users, sorted by name."""
        found = (_user(id, body) for id, body in self._store.documents("user").items())
        return tuple(sorted(found, key=lambda each: (each.name, each.principal)))

    def user(self, principal: PrincipalId) -> User | None:
        """Return one user, or None if the id is unknown or the user was erased."""
        body = self._store.document("user", principal)
        return None if body is None else _user(principal, body)

    def user_of(self, login: str) -> User:
        """Return the user of a login name. Raises `NotFoundError`."""
        found = self._store.document("login", parse_existing_login(login))
        user = self.user(PrincipalId(found["principal"])) if found else None
        if user is None:
            raise NotFoundError(
                f"there is no user with the login name `{login}`; `headgate deployment-user list` shows the login names"
            )
        return user

    def log_in(self, login: str, password: str, told: Mapping[str, str]) -> NewSession:
        """Start a session of the user with this login name and password. `told` has the client's `address` and `agent`.

        Raises `LoginError` if they are wrong, `TooOftenError` after too many failed attempts.
        """
        found = self._verify_password(login, password, told.get("address", ""))
        started = self.sessions.start(PrincipalId(found["principal"]), "password", told)
        if self._login(login) != found:
            # The password was changed while the old one was checked; that change could not end this session.
            self.sessions.end(started.session.principal, started.session.id)
            raise LoginError(_WRONG)
        return started

    def change_password(self, session: Session, old: str, new: str, origin: str) -> None:
        """Change the password of a session's user, and end the user's other sessions.

        Raises `LoginError` if `old` is wrong, `TooOftenError` after too many failed attempts from the address `origin` or
        for the login name, `InvalidError` for an invalid new password.
        """
        user = self.user(session.principal)
        if user is None or user.login is None:
            raise LoginError(
                "your user has no password in this deployment; change your password at the OpenID Connect "
                "provider where you log in"
            )
        try:
            proved = self._verify_password(user.login, old, origin)
        except LoginError:
            raise LoginError("the old password is wrong; correct it and retry") from None
        self._set(user, user.login, new, proved, stays=session)

    def set_password(self, user: User, new: str) -> None:
        """Set a user's password, as the deployment, and end all their sessions. Without a login name, the display name becomes it."""
        login = user.login or new_login_name(user.name)
        self._set(user, login, new, self._store.document("login", login))

    def principal_of(self, secret: str) -> PrincipalId | None:
        """Return the user of the session with this secret, or None."""
        session = self.sessions.find(secret)
        return session.principal if session else None

    def _register(self, command: RegisterUser) -> None:
        try:
            self._control.execute(command, None)
        except DocumentConflictError:
            raise _build_taken_error() from None

    def _set(
        self, user: User, login: str, new: str, before: Mapping[str, Any] | None, stays: Session | None = None
    ) -> None:
        """Write a new password, and end every session of the user except the one that `stays`."""
        if before is not None and before["principal"] != user.principal:
            raise AlreadyExistsError(f"the login name `{login}` is taken; choose another one")
        password = Password(new_id("w"), self._passwords.hash_new_password(new, login))
        body = {**(self._store.document("user", user.principal) or {}), "login": login}

        def ended() -> tuple[str, ...]:
            return tuple(each.id for each in self.sessions.of(user.principal) if stays is None or each.id != stays.id)

        command = SetPassword(user.principal, password, body, before, ended)
        try:
            self._control.execute(command, Caller(user.principal) if stays else None)
        except DocumentConflictError:
            raise AlreadyExistsError(
                f"the login name `{login}` was taken or its password was changed at the same time; nothing was changed; "
                "repeat the request"
            ) from None

    def _verify_password(self, login: str, password: str, origin: str) -> Mapping[str, Any]:
        now, name, network = self._control.now, nfkc_casefold(login[:_LONGEST]), client_key(origin)
        self._addresses.record(network, now)
        self._names.record(name, now)
        found = self._login(login)
        kept = self._store.document("password", found["password"]) if found and found["password"] else None
        try:
            right = self._passwords.matches(kept["hash"] if kept else None, password)
        except TooOftenError:
            # The password was not checked, so the attempt does not count.
            self._addresses.undo(network)
            self._names.undo(name)
            raise
        if not right or found is None or kept is None:
            raise LoginError(_WRONG)
        self._addresses.undo(network)
        self._names.forget(name)
        self._renew(str(found["password"]), kept, password)
        return found

    def _renew(self, id: str, kept: Mapping[str, Any], password: str) -> None:
        """Hash a password again with the configured cost; if hashing is too busy now, at a later login."""
        if self._passwords.is_outdated(kept["hash"]):
            with suppress(TooOftenError, DocumentConflictError):
                again = {**kept, "hash": self._passwords.hash_password(password)}
                self._store.put_document(DocumentPut("password", id, again, expected=kept))

    def _login(self, login: str) -> Mapping[str, Any] | None:
        try:
            name = login_name(login)
        except InvalidError:
            return None
        return self._store.document("login", name)


def _build_taken_error() -> AlreadyExistsError:
    return AlreadyExistsError(
        "the login name or address is taken, or looks like that of another user; choose another one", is_hidden=True
    )


def _user(id: str, body: Mapping[str, Any]) -> User:
    return User(PrincipalId(id), str(body["name"]), body.get("login"), body.get("email"))
