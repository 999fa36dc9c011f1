"""The set-up of the story: a server on a fresh data folder, the systems outside of the lake, and the people."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from examples.airline.outside import Outside
from examples.airline.people import Person
from examples.airline.telling import Story
from headgate.app.server import Server
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization
from headgate.control.identity.tokens import IssueToken, format_token
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.facts.ids import PrincipalId, ResourceId, TokenId

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class World:
    """The set-up, which all chapters share."""

    server: Server
    outside: Outside
    story: Story

    def owner(self, name: str, model: str) -> Person:
        """Return the owner of the deployment's first organization."""
        token = self.server.settings.owner_token.read_text(encoding="utf-8").strip()
        return Person(name, token, "", self.server.url, self.server.gateway_port, HERE / model)

    def founded(self, organization: str, model: str, owner: str) -> Person:
        """Create another organization under a model, as the deployment's operator, and return its owner."""
        id = PrincipalId(new_id("p"))
        founding = OrganizationSpec(ResourceId(new_id("o")), organization, id, owner, model)
        made = create_organization(self.server.deployment.organizations, founding)
        address = f"{self.server.url}/o/{organization}"
        return Person(owner, _token(made, id), organization, address, self.server.gateway_port, HERE / model)

    def joined(self, owner: Person, name: str) -> Person:
        """Return a new user of the owner's organization.

        The deployment issues the user's token, because not every model has a role that may.
        """
        id = PrincipalId(owner.call("POST", "/users", {"name": name, "role": "member"})["id"])
        deployment = self.server.deployment
        organization = deployment.organizations.find(owner.organization) if owner.organization else deployment.home
        return replace(owner, name=name, token=_token(organization, id))


def _token(organization: Organization, principal: PrincipalId) -> str:
    token, secret = TokenId(new_id("t")), secrets.token_urlsafe(32)
    organization.control.execute(IssueToken(token, secret, principal), None)
    return format_token(token, secret)


Chapter = Callable[[World], None]
