"""AuthZEN over a small organization: requests of an enforcement point, answered without a server."""

import json
from pathlib import Path
from typing import Any

import yaml

from headgate.conformance.language import words_of
from headgate.conformance.world_builder import build
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organization, Organizations
from headgate.decision.conditions import CONDITIONS
from headgate.decision.engine.engine import Engine
from headgate.endpoints.authzen.endpoints import ENDPOINTS, Response, respond
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.model.load import load_model
from headgate.model.model import Model
from tests.fakes import small_organization
from tests.fakes.store import FakeStores

JSON = "application/json"


def opened(
    *changes: Change, model: Model = small_organization.NEKT, root: ResourceId = small_organization.ROOT
) -> Organization:
    """Return an organization whose log begins with these changes."""
    stores = FakeStores()
    stores.log(root).write(*changes)
    return Organizations(stores, FixedModels({model.name: model}), lambda: small_organization.NOW).open(root)


def small(*more: Change) -> Organization:
    """Return the small organization with these changes added."""
    return opened(*small_organization.PEOPLE, *small_organization.THINGS, *more)


def sent(organization: Organization, caller: Caller | PrincipalId, path: str, body: object) -> Response:
    """Send a body to an endpoint."""
    endpoint = next(each for each in ENDPOINTS if each.path == f"/access/v1/{path}")
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return respond(endpoint, JSON, content, organization, caller if isinstance(caller, Caller) else Caller(caller))


def answer(organization: Organization, caller: Caller | PrincipalId, path: str, body: object) -> dict[str, Any]:
    """Return the object in the answer to a body."""
    response = sent(organization, caller, path, body)
    assert (response.status, response.content_type) == (200, JSON), response.body
    found: dict[str, Any] = json.loads(response.body)
    return found


def asked(subject: str, action: str, resource: str, **more: Any) -> dict[str, Any]:
    """Return an evaluation, for example `alice`, `table.select`, `flights`; the resource type defaults to the action's."""
    type, _, id = resource.rpartition(":")
    return {
        "subject": {"type": "user", "id": subject},
        "action": {"name": action},
        "resource": {"type": type or action.partition(".")[0], "id": id},
        **more,
    }


def company(folder: Path, log: str = "company") -> Organization:
    """Return a company that is defined by the files of a folder, without Python: its access model and its facts."""
    model = load_model((folder / "model.yaml").read_text(), shipped_vocabulary(), "model.yaml", CONDITIONS)
    facts = build(yaml.safe_load((folder / "world.yaml").read_text()), words_of(model, shipped_vocabulary()), Engine)
    return opened(*facts.history[ResourceId(log)], model=model, root=ResourceId(log))
