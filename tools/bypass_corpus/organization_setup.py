"""The deployment for the cases: one organization under the atomic model, with users without privileges."""

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from headgate.app.deployment import HOME, model_of, shipped_model
from headgate.app.settings.settings import Settings
from headgate.control.control import Control
from headgate.control.deployment.bootstrap import OrganizationSpec, bootstrap_deployment, create_organization
from headgate.control.identity.tokens import IssueToken, format_token
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.ports import DocumentPut
from headgate.control.organizations.commands import ORGANIZATION
from headgate.control.organizations.organization import Organizations
from headgate.facts.changes import PrincipalAdded, ResourceCreated
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.store import open_stores

ATOMIC = Path(__file__).resolve().parents[2] / "tests" / "models" / "atomic.yaml"
LAKE = "lake"


def found_atomic(settings: Settings) -> None:
    """Create a deployment with one organization under the atomic model, and an empty lake.

    It is written to the folder before a server opens it, because a server itself offers only the shipped models.
    """
    source = ATOMIC.read_text(encoding="utf-8")
    model = model_of(source, ATOMIC.name)
    settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stores = open_stores(settings.folder, settings.seal_key)
    organizations = Organizations(stores, {HOME: shipped_model(HOME), model.name: model}, time.time)
    bootstrap_deployment(organizations, HOME)
    kept = DocumentPut("model", model.hash, {"name": model.name, "source": source})
    organizations.deployment.store.put_document(kept)
    spec = OrganizationSpec(ORGANIZATION, "bypass", PrincipalId("owner"), "owner", model.name)
    create_organization(organizations, spec).control.execute(_Lake(), None)
    stores.close()


def join(control: Control, name: str) -> str:
    """Add a user without privileges, and return a token of the user."""
    principal, token, secret = PrincipalId(name), TokenId(f"t-{name}"), secrets.token_urlsafe(32)
    control.execute(_Join(principal), None)
    control.execute(IssueToken(token, secret, principal, "bypass"), None)
    return format_token(token, secret)


@dataclass(frozen=True, slots=True)
class _Lake:
    """A command that creates a project with the lake."""

    name: str = "bypass.lake"

    def decide(self, view: CommandContext) -> CommandEffect:
        project = ResourceId("project")
        made = ResourceCreated(project, "project", view.root, "project")
        return CommandEffect((made, ResourceCreated(ResourceId(LAKE), "lake", project, LAKE)))


@dataclass(frozen=True, slots=True)
class _Join:
    """A command that adds a user without privileges."""

    principal: PrincipalId
    name: str = "bypass.join"

    def decide(self, view: CommandContext) -> CommandEffect:  # noqa: ARG002 (whatever the facts are)
        document = DocumentPut("principal", self.principal, {"name": self.principal})
        return CommandEffect((PrincipalAdded(self.principal, "user"),), (document,))
