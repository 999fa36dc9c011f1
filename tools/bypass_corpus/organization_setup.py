"""The deployment for the cases: one organization under the atomic model, with users without privileges."""

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from headgate.app.settings.settings import DEFAULT_MODEL, Settings
from headgate.control.control import Control
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.identity.tokens import IssueToken, format_token
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.ports import DocumentPut
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.control.organizations.commands import ORGANIZATION
from headgate.facts.changes import PrincipalAdded, ResourceCreated
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.store import open_stores

ATOMIC = Path(__file__).resolve().parents[2] / "tests" / "models" / "atomic.yaml"
LAKE = "lake"


def found_atomic(settings: Settings) -> None:
    """Create a deployment with one organization under the atomic model, and an empty lake."""
    atomic = load_source(ATOMIC.read_text(encoding="utf-8"), ATOMIC.name)
    settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stores = open_stores(settings.folder, settings.seal_key)
    organizations = open_organizations(stores, time.time, DEFAULT_MODEL)
    organizations.deployment.control.execute(InstallModel(atomic), None)
    spec = OrganizationSpec(ORGANIZATION, "bypass", PrincipalId("owner"), "owner", atomic.model.name)
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
