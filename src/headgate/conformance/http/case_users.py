"""The users of scenarios over HTTP: every user of a world has a login, and every program a token, with real secrets."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace

from headgate.conformance.errors import ScenarioError
from headgate.conformance.world import World
from headgate.control.authentication.services import AuthServices, open_auth_services
from headgate.control.authentication.settings import DAY, Hashing, LoginSettings
from headgate.control.identity.tokens import format_token, token_document
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.model_source import SourcedModel
from headgate.control.kernel.parsing import require_text
from headgate.control.kernel.ports import DocumentPut
from headgate.control.kernel.stores import Stores
from headgate.control.models.library import FixedModels
from headgate.control.organizations.commands import CreateDeployment
from headgate.control.organizations.organization import Organizations
from headgate.decision.context import Models
from headgate.decision.engine.engine import Engine
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, PrincipalAdded, RoleAssigned, TokenIssued
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model

_ASK = "organization.ask"
_PASSWORD = "a password of a scenario"  # noqa: S105 (of no real user)
_ALWAYS = 36_500 * DAY
_SETTINGS = LoginSettings(session=_ALWAYS, hashing=Hashing(time=1, memory=8, lanes=1, at_once=1))
"""Sessions do not expire, because a scenario may let years pass; hashing is cheap, because its passwords are not secret."""

LogIn = Callable[[str, str], str]
"""Logs a user in by login name and password, through the public endpoint; returns the secret of the session."""


class CaseUsers:
    """The users of a world, registered in the log of a deployment, with those that are in none of its organizations."""

    def __init__(self, stores: Stores, models: Models, home: SourcedModel, world: World) -> None:
        self.users, self.now, self.stores = world.users, world.now, stores
        self._engine = Engine(models, Snapshot())
        organizations = self.organizations(stores)
        organizations.deployment.control.execute(CreateDeployment(home), None)
        self.auth_services: AuthServices = open_auth_services(organizations, _SETTINGS)
        self._logins = {
            PrincipalId(require_text(user, "id")): f"user-{number}" for number, user in enumerate(world.users)
        }
        self._secrets: dict[PrincipalId, str] = {}
        for id, login in self._logins.items():
            self.auth_services.authentication.register(id, login=login, password=_PASSWORD, principal=id)

    def organizations(self, stores: Stores) -> Organizations:
        """Return the organizations of a store, at the scenario's time. All share one compilation of the models."""
        models = self._engine.models
        return Organizations(
            stores, FixedModels(models), lambda: self.now, lambda _, facts: self._engine.with_facts(facts)
        )

    def __contains__(self, id: str) -> bool:
        return id in self._logins

    def secret(self, id: PrincipalId, log_in: LogIn) -> str:
        """Return the secret of a user's session; the first call logs the user in."""
        if id not in self._secrets:
            self._secrets[id] = log_in(self._logins[id], _PASSWORD)
        return self._secrets[id]


@dataclass(frozen=True, slots=True)
class Bearer:
    """The sender of a question: its secret, and the changes and documents by which the log accepts the secret."""

    secret: str
    changes: tuple[Change, ...]
    documents: tuple[DocumentPut, ...]
    itself: bool = True
    """Whether the sender is the actor of the case; if not, it asks about the actor."""


def program(world: World, log: ResourceId, caller: Caller) -> Bearer:
    """Return the sender of the questions of a service principal, a token or a team.

    A team has no credentials: an enforcement point asks about it.
    """
    facts = world.facts(log)
    if caller.token is not None:
        return _bearer(caller.token, caller.principal)
    known = facts.principals.get(caller.principal)
    if known is None and caller.principal in facts.resources:
        return _enforcement_point(world.language.model, log)
    issued = TokenIssued(TokenId(new_id("t")), caller.principal)
    # A deleted principal has a secret that the log does not accept.
    return _bearer(issued.token, caller.principal, *((issued,) if known else ()))


def _enforcement_point(model: Model, log: ResourceId) -> Bearer:
    asker, token = PrincipalId(new_id("p")), TokenId(new_id("t"))
    able = [role for role in model.roles_granting(_ASK) if "organization" in model.roles[role].on]
    if not able:
        raise ScenarioError(
            f"the model `{model.name}` has no role on an organization that gives `{_ASK}`, which the cases "
            "over HTTP need; add one to the model"
        )
    given = RoleAssigned(asker, able[-1], log, model.name)
    sender = _bearer(token, asker, PrincipalAdded(asker, "service_principal"), given, TokenIssued(token, asker))
    return replace(sender, itself=False)


def _bearer(token: TokenId, principal: PrincipalId, *changes: Change) -> Bearer:
    secret = secrets.token_urlsafe(32)
    return Bearer(
        format_token(token, secret), changes, (DocumentPut("token", token, token_document(principal, secret)),)
    )
