"""Opens the organizations of a deployment: each has its own log, and so has the deployment itself."""

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from headgate.control.control import Control
from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.control.identity.directory import Directory
from headgate.control.identity.tokens import LAST_USE
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.log_follower import RETRY_SECONDS, EngineFactory
from headgate.control.kernel.model_source import ModelSource
from headgate.control.kernel.ports import DocumentConflictError, DocumentPut, LogRefusedError, Store, StoreError
from headgate.control.kernel.stores import Stores
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.control.organizations.staleness import StalenessCheck
from headgate.control.questions.hidden_names import NameAuthorizer
from headgate.control.questions.messages import RefusalMessages
from headgate.decision.caller_validity import caller_invalid
from headgate.decision.engine.engine import Engine
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import NO_NAMES, SUSPENDED

_SEVERAL: Final = "you are a member of several organizations"
_PERHAPS_SEVERAL: Final = "the log of an organization cannot be read, so you may be a member of several organizations"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """Why a log could not be read, and when (seconds since the epoch) it is read again."""

    why: str
    until: float


class SeveralOrganizationsError(Exception):
    """A user is a member of several organizations, or may be, and the request names none: it is executed in none of them."""

    def __init__(self, organizations: tuple[ResourceId, ...]) -> None:
        super().__init__(_SEVERAL if len(organizations) > 1 else _PERHAPS_SEVERAL)
        self.organizations = organizations
        """The ids of the known ones."""


@dataclass(frozen=True, slots=True)
class Organization:
    """One organization, or the deployment itself: its store, commands, questions, names and messages."""

    id: ResourceId
    store: Store
    control: Control
    directory: Directory
    wording: RefusalMessages
    gate: NameAuthorizer
    used: dict[TokenId, float] = field(default_factory=dict[TokenId, float])
    """The last use of tokens in this process (seconds since the epoch) that is not written yet."""

    @property
    def exists(self) -> bool:
        """Whether its log has entries."""
        return self.control.snapshot.organization is not None

    def caller(self, presented: AuthenticatedPrincipal) -> Caller | None:
        """Return the caller for these credentials in this organization.

        None if the principal, token or run is unknown, expired, revoked or ended, or if the organization is suspended.
        """
        if not self._may_present(presented):
            return None
        caller, now = Caller(presented.principal, presented.token, presented.run), self.control.now
        if caller_invalid(self.control.snapshot, caller, now):
            return None
        if caller.token is not None:
            self.used[caller.token] = now
        return caller

    def _may_present(self, presented: AuthenticatedPrincipal) -> bool:
        """Return whether the credentials are valid here: a token belongs to this organization, a login to a user of it."""
        if presented.organization is not None:
            return presented.organization == self.id
        principal = self.control.snapshot.principals.get(presented.principal)
        return principal is not None and principal.kind == "user"

    def is_suspended_for(self, presented: AuthenticatedPrincipal) -> bool:
        """Return whether the organization is suspended and the caller could act in it without the suspension."""
        if not self._may_present(presented):
            return False
        caller = Caller(presented.principal, presented.token, presented.run)
        missing = caller_invalid(self.control.snapshot, caller, self.control.now)
        return missing is not None and missing.code == SUSPENDED

    def flush(self) -> None:
        """Write the checkpoint, if it is due, and the last use of tokens."""
        self.control.write_checkpoint()
        for token in tuple(self.used):
            self.store.put_document(DocumentPut(LAST_USE, token, {"at": self.used.pop(token)}))


HOME: Final = "home"
"""The kind of the document with the id of the home organization."""


class Organizations:
    """Opens logs on first use. Safe to use from several threads."""

    def __init__(
        self,
        stores: Stores,
        models: ModelSource,
        clock: Callable[[], float],
        engine: EngineFactory = Engine,
        address: str = "",
    ) -> None:
        """`models` finds the models by the hashes in the logs.

        `address` is the public URL of the deployment; links in refusals begin with it.
        """
        self._stores = stores
        self._models = models
        self._clock = clock
        self._engine = engine
        self._address = address
        self._lock = threading.Lock()
        self._opened: dict[ResourceId, Organization] = {}
        self._unreadable: dict[ResourceId, _Unreadable] = {}
        self._staleness = StalenessCheck(stores)
        self._refreshes = 0

    @property
    def deployment(self) -> Organization:
        """The deployment's own log: its users, and below it the organizations."""
        return self.open(DEPLOYMENT)

    @property
    def head_reads(self) -> int:
        """The number of reads of the newest revisions since the process began."""
        return self._refreshes + self._staleness.head_reads

    @property
    def home(self) -> ResourceId | None:
        """The id of the home organization: the first one that was created. None before that."""
        kept = self.deployment.store.document(HOME, DEPLOYMENT)
        return None if kept is None else ResourceId(str(kept["organization"]))

    def choose_home(self, first: ResourceId) -> ResourceId:
        """Return the id of the home organization, which becomes the `first` one if there is none yet."""
        if self.home is None:
            with suppress(DocumentConflictError):  # another replica has just chosen it
                self.deployment.store.put_document(DocumentPut(HOME, DEPLOYMENT, {"organization": first}, new=True))
        return self.home or first

    @property
    def stores(self) -> Stores:
        """The stores of all logs."""
        return self._stores

    @property
    def now(self) -> float:
        """The time, in seconds since the epoch."""
        return self._clock()

    @property
    def models(self) -> ModelSource:
        """The models by the hash of their source."""
        return self._models

    @property
    def loaded_organizations(self) -> tuple[Organization, ...]:
        """The organizations that are open in this process, including the deployment itself."""
        return tuple(self._opened.values())

    def if_open(self, root: ResourceId) -> Organization | None:
        """Return the organization of this id if it is open already and not refused, otherwise None; never blocks."""
        found = None if root == DEPLOYMENT else self._opened.get(root)
        return None if found is None or found.control.is_refused else found

    def open(self, root: ResourceId) -> Organization:
        """Return the organization of a log, which may be empty. Raises `LogRefusedError` if it cannot be read."""
        found = self._opened.get(root)
        if found is not None:
            found.control.require_readable()
            return found
        with self._lock:
            if root not in self._opened:
                self._opened[root] = self._read(root)
            return self._opened[root]

    def draft(self, root: ResourceId) -> Organization:
        """Return the organization of a log that may never get an entry: it is not kept open."""
        return self._opened.get(root) or self._open(root)

    def find(self, name: str) -> Organization:
        """Return the organization with this id, or else with this name. Raises `NotFoundError` if there is none.

        The deployment itself is not an organization. An id takes precedence, so that no organization can take over the id
        of another one by its name.
        """
        found = self._find_begun(self.resolve_listed_id(name))
        if found is None:
            raise NotFoundError(
                f"there is no organization `{name}` that you may see; check the name, or ask the operator of this deployment"
            )
        return found

    @property
    def names_by_id(self) -> Mapping[ResourceId, str]:
        """The names of the organizations by id, from the deployment's log: without removed ones."""
        facts = self.deployment.control.snapshot
        below = (facts.resources[id] for id in facts.children.get(DEPLOYMENT, NO_NAMES).values())
        return {each.id: each.name for each in below if each.type == "organization"}

    @property
    def sole(self) -> Organization | None:
        """The only organization of the deployment; None if it has several or none. Raises `StoreError`."""
        roots = tuple(self.names_by_id)
        return self._find_begun(roots[0]) if len(roots) == 1 else None

    def resolve_listed_id(self, named: str) -> ResourceId:
        """Return the id of the listed organization with this id, or else with this name; the text itself if there is none."""
        facts, id = self.deployment.control.snapshot, ResourceId(named)
        return id if id in facts.resources else facts.children.get(DEPLOYMENT, NO_NAMES).get(named, id)

    def resolve_addressed(self, presented: AuthenticatedPrincipal, named: str | None) -> Organization | None:
        """Return the organization that a request is for, or None if there is none.

        It is the one that the request names, else that of the token, else the only one of which the user is a member.
        Raises `SeveralOrganizationsError`.
        """
        if named is not None:
            try:
                return self.find(named)
            except NotFoundError:
                return None
        if presented.organization is not None:
            return self._find_begun(presented.organization)
        mine = self.of(presented.principal)
        if len(mine) > 1 or self._unreadable or self.is_any_refused:
            raise SeveralOrganizationsError(tuple(each.id for each in mine))
        return next(iter(mine), None)

    @property
    def roots(self) -> tuple[ResourceId, ...]:
        """The ids of the organizations' logs, sorted."""
        return tuple(sorted(root for root in self._stores.logs() if root != DEPLOYMENT))

    def list_all(self) -> tuple[Organization, ...]:
        """Return every organization, without the deployment itself. Raises `StoreError` if one cannot be read."""
        return tuple(self.open(root) for root in self.roots)

    def readable(self) -> tuple[Organization, ...]:
        """Return every organization whose log can be read, without the deployment itself."""
        found = (self._readable(root) for root in self.roots)
        return tuple(each for each in found if each is not None)

    def of(self, principal: PrincipalId) -> tuple[Organization, ...]:
        """Return the organizations that have this principal, among those whose logs can be read."""
        return tuple(each for each in self.readable() if principal in each.control.snapshot.principals)

    @property
    def is_any_refused(self) -> bool:
        """Whether one of the open logs cannot be read, so that every question about it is refused."""
        return any(each.control.is_refused for each in tuple(self._opened.values()))

    def hear(self, root: ResourceId, revision: int) -> None:
        """Read the entries that another process has announced for a log. Raises `StoreError`."""
        found = self._opened.get(root)
        if found is not None and revision > found.control.snapshot.revision:
            found.control.catch_up()

    def refresh(self) -> None:
        """Read the newest entry of every open log, and catch up with new entries.

        A log that cannot be read is refused from then on (`Control.catch_up`); the others are not. Raises `StoreError`.
        """
        self._refreshes += 1
        with self._lock:
            # Waits for a log that is being opened: it may have been read before the newest entry was written.
            opened = tuple(self._opened)
        for root, head in self._stores.heads(opened).items():
            with suppress(StoreError):
                self._opened[root].control.catch_up(head)

    def is_stale(self) -> bool:
        """Return whether the store has entries of the open logs that are not known. Waits for no other thread."""
        if self._lock.locked():
            return True  # a log is being opened, and may have been read before the newest entry was written
        return self._staleness.is_stale({each.id: each.control for each in tuple(self._opened.values())})

    def keep(self) -> None:
        """Write due checkpoints and the last use of tokens. To be called now and then: no decision depends on it."""
        for each in tuple(self._opened.values()):
            if not each.control.is_refused:
                each.flush()

    def _find_begun(self, root: ResourceId) -> Organization | None:
        """Return the organization of a log with entries, or None."""
        if root == DEPLOYMENT:
            return None
        opened = self._opened.get(root)
        if opened is not None and opened.exists:
            return opened
        return self.open(root) if root in self._stores.logs() else None

    def _readable(self, root: ResourceId) -> Organization | None:
        try:
            return self.open(root)
        except StoreError:
            return None

    def _read(self, root: ResourceId) -> Organization:
        """Open a log. One that cannot be read is not retried at every request: that would read all of it each time."""
        known = self._unreadable.get(root)
        if known is not None and self.now < known.until:
            raise LogRefusedError(known.why)
        try:
            found = self._open(root)
        except Exception as error:
            why = (
                f"the log of the organization `{root}` cannot be read ({error}); ask the operator of this deployment to check "
                "the server's log"
            )
            self._unreadable[root] = _Unreadable(why, self.now + RETRY_SECONDS)
            log.exception("every request to the organization `%s` is refused, because its log cannot be read", root)
            raise LogRefusedError(why) from error
        self._unreadable.pop(root, None)
        return found

    def _open(self, root: ResourceId) -> Organization:
        store = self._stores.log(root)
        control = Control(store, self._models, self._clock, self._engine)
        directory = Directory(control, store)
        wording = RefusalMessages(directory)
        gate = NameAuthorizer(control, wording, f"{self._address}/o/{root}/api/v1/requests")
        return Organization(root, store, control, directory, wording, gate)
