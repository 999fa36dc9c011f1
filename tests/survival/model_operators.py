"""Operators that change the model of an organization over HTTP."""

from dataclasses import dataclass
from typing import Any, Final

import httpx

from headgate.app.deployment import Deployment
from headgate.control.deployment.operators import add_operator
from headgate.control.kernel.metadata import INTERNAL
from tests.app.deployment_harness import OrganizationClient
from tests.survival.client import Client
from tests.survival.model_replicas import ANN, BEN, CARGO, OPERATORS, PORT, create_port, deciding_model

_PASSWORD: Final = "correct horse battery"  # noqa: S105 (a test secret)
_MODELS: Final = "/api/v1/deployment/models"
_CHANGE: Final = f"/api/v1/deployment/organizations/{PORT}/model"


@dataclass(frozen=True)
class PortSecrets:
    """The secrets of the operators' sessions, and the tokens of the owner Ann and of Ben in the organization."""

    operators: tuple[str, ...]
    ann: str
    ben: str


def create_port_with_secrets(deployment: Deployment) -> PortSecrets:
    """Create the organization in the first version of its model, and operators that can log in."""
    users = deployment.auth_services.authentication
    for operator in OPERATORS:
        users.register(operator, login=operator, password=_PASSWORD, principal=operator)
        add_operator(deployment.organizations.deployment.control, operator, INTERNAL)
    port = OrganizationClient(httpx.Client(trust_env=False), create_port(deployment.organizations), "", {})
    sessions = tuple(users.log_in(operator, _PASSWORD, {}).secret for operator in OPERATORS)
    return PortSecrets(sessions, port.token(ANN), port.token(BEN))


@dataclass(frozen=True)
class OperatorClient:
    """An operator's client at one replica."""

    client: Client
    secrets: PortSecrets

    def confirm(self, wanted: dict[str, Any]) -> str:
        """Return the confirmation of a change, from a dry run."""
        answer = self.client.send("PUT", f"{_CHANGE}?dry_run=true", wanted)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["confirmation"])

    def change(self, wanted: dict[str, Any], confirmation: str | None = None) -> httpx.Response:
        """Send a change, with a confirmation if there is one."""
        return self.client.send("PUT", _CHANGE, wanted | ({"confirmation": confirmation} if confirmation else {}))

    def remove(self, model: str) -> httpx.Response:
        """Remove a model."""
        return self.client.send("DELETE", f"{_MODELS}/{model}")

    def install(self, source: str) -> httpx.Response:
        """Install a model."""
        return self.client.send("POST", _MODELS, {"source": source})

    def installed(self) -> set[str]:
        """Return the names of the installed models."""
        answer = self.client.send("GET", _MODELS)
        assert answer.status_code == 200, answer.text
        return {each["name"] for each in answer.json()["items"]}

    def decides_by(self) -> tuple[str, int]:
        """Return the model and the version by which the replica decides."""
        return deciding_model(self._may)

    def commands(self) -> list[str]:
        """Return the commands in the audit of the organization."""
        owner = Client(self.client.http, self.client.address, self.secrets.ann)
        answer = owner.send("GET", "/api/v1/audit?limit=500")
        assert answer.status_code == 200, answer.text
        return [each["command"] for each in answer.json()["items"]]

    def _may(self, action: str) -> bool:
        body = {
            "subject": {"type": "user", "id": BEN},
            "action": {"name": action},
            "resource": {"type": "table", "id": CARGO},
        }
        ben = Client(self.client.http, self.client.address, self.secrets.ben)
        answer = ben.send("POST", "/access/v1/evaluation", body)
        assert answer.status_code == 200, answer.text
        return answer.json()["decision"] is True
