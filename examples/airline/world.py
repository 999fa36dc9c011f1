"""What a story happens in: a server on a fresh data folder, what lies outside of it, and its people."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from examples.airline.outside import Outside
from examples.airline.people import Person
from examples.airline.telling import Story
from headgate.app.server import Server
from headgate.control.founding import Founding, found
from headgate.control.ids import new_id
from headgate.control.tokens import IssueToken, written
from headgate.facts.ids import PrincipalId, ResourceId, TokenId

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class World:
    """Handed from chapter to chapter."""

    server: Server
    outside: Outside
    story: Story

    def owner(self, name: str, model: str) -> Person:
        """Return the owner of the deployment's first organization."""
        token = self.server.settings.owner_token.read_text(encoding="utf-8").strip()
        return self._person(name, token, "", model)

    def founded(self, organization: str, model: str, owner: str) -> Person:
        """Begin another organization under a model, as the deployment's own doing, and return who owns it."""
        id, token, secret = PrincipalId(new_id("p")), TokenId(new_id("t")), secrets.token_urlsafe(32)
        founding = Founding(ResourceId(new_id("o")), organization, id, owner, model)
        made = found(self.server.deployment.organizations, founding)
        made.control.execute(IssueToken(token, secret, id), None)
        return self._person(owner, written(token, secret), f"/o/{organization}", model)

    def joined(self, owner: Person, name: str, role: str = "member") -> Person:
        """Return a new user of the owner's organization."""
        owner.call("POST", "/users", {"name": name, "role": role})
        issued = owner.call("POST", "/tokens", {"principal": name, "label": "story", "days": 1})
        return Person(name, issued["token"], owner.url, owner.spark_port, owner.definitions)

    def _person(self, name: str, token: str, address: str, model: str) -> Person:
        return Person(name, token, f"{self.server.url}{address}", self.server.gateway_port, HERE / model)


Chapter = Callable[[World], None]
