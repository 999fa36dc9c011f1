"""Requests for the routes that need more than a generated organization: each creates its resources first."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from headgate.control.access.switches import ChangeSetting
from headgate.control.deployment.operators import add_operator
from headgate.control.kernel.metadata import INTERNAL
from headgate.control.kernel.run_queue import RunRow, RunUpdate
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.facts.ids import ResourceId, RunId
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient
from tests.app.route_requests import Asked
from tests.control.models.model_files import HARBOUR
from tests.endpoints.api.resources.test_organizations import login

_NUMBERS = count()


class Ground:
    """A deployment in which requests create resources. `address` is the organization's, `secret` the caller's."""

    def __init__(self, world: DeploymentHarness) -> None:
        self.world = world
        self.address = self.secret = ""

    def place(self, model: str = "nekt") -> OrganizationClient:
        """Return a new organization, whose owner sends the request."""
        place = self.world.organization(f"ground-{next(_NUMBERS)}", model)
        # The address has the id, because some requests rename the organization.
        self.address, self.secret = f"/o/{place.opened.id}", place.tokens["owner"]
        return place

    def operator(self) -> None:
        """Create an operator of the deployment; send the request with their session."""
        name = f"op{next(_NUMBERS)}"
        self.address, self.secret = "", login(self.world, name)
        user = self.world.deployment.auth_services.authentication.user_of(name)
        add_operator(self.world.deployment.organizations.deployment.control, user.principal, INTERNAL)

    def send(self, method: str, asked: Asked, key: str, body: Any = None) -> Any:
        """Send the request with an idempotency key, with another body if one is given."""
        headers = {"authorization": f"Bearer {self.secret}", "idempotency-key": key}
        path, sent = f"{self.address}/api/v1{asked.path}", asked.body if body is None else body
        return self.world.http.request(method, path, json=sent, params=asked.query, headers=headers)


Prepare = Callable[[Ground], Asked]


def _always(path: str, body: Any = None) -> Prepare:
    def asked(ground: Ground) -> Asked:
        ground.place()
        return Asked(path, body)

    return asked


def _of_made(made_at: str, made_with: Any, path: str, body: Any = None) -> Prepare:
    """Create a resource, and return the request about it; `{}` in the path is its id."""

    def asked(ground: Ground) -> Asked:
        return Asked(path.format(ground.place().create(made_at, made_with)), body)

    return asked


_FOLDER = {"name": "files", "folder": "/nowhere"}
_HTTP = {"name": "api", "http": {"base_url": "https://api.example", "headers": {"x": "1"}}}


def _stream(name: str) -> dict[str, Any]:
    return {"name": name, "file": f"{name}.csv", "into": f"lake.raw.{name}"}


_SOURCE = {"kind": "source", "name": "load", "connection": "files", "streams": [_stream("a")]}
_QUERY = {"kind": "query", "name": "q", "mode": "append", "sql": "SELECT 1", "inputs": ["lake.raw.a"]}


def _pipeline(path: str, body: Any = None, *, saved: bool = True, state: str = "") -> Prepare:
    """Return a request about a source, which is saved first unless `saved` is false."""

    def asked(ground: Ground) -> Asked:
        place = ground.place()
        place.create("/databases", {"name": "raw"})
        place.create("/connections", _FOLDER)
        if saved:
            place.result("owner", "PUT", "/pipelines/load", _SOURCE)
        if state:
            place.result("owner", "POST", f"/pipelines/load/{state}")
        return Asked(path, body)

    return asked


def _queried(place: OrganizationClient) -> ResourceId:
    place.create("/databases", {"name": "raw"})
    place.create("/resources", {"type": "table", "parent": "lake.raw", "name": "a"})
    return ResourceId(place.result("owner", "PUT", "/pipelines/q", {**_QUERY, "into": "lake.raw.b"})["id"])


def _query(path: str, body: Any = None) -> Prepare:
    def asked(ground: Ground) -> Asked:
        _queried(ground.place())
        return Asked(path, body)

    return asked


def _run(verb: str, state: str) -> Prepare:
    def asked(ground: Ground) -> Asked:
        place = ground.place()
        pipeline, id = _queried(place), RunId(f"run{next(_NUMBERS)}")
        ended = 2.0 if state == "failed" else None
        place.opened.store.put_run(RunUpdate(RunRow(id, pipeline, state, "manual", None, 1.0, 1.0, None, ended), None))
        return Asked(f"/runs/{id}/{verb}")

    return asked


def _project(ground: Ground) -> OrganizationClient:
    place = ground.place("onehouse")
    place.create("/resources", {"type": "project", "parent": "organization", "name": "one"})
    return place


def _new_cluster(ground: Ground) -> Asked:
    _project(ground)
    return Asked("/clusters", {"name": "big", "parent": "one"})


def _cluster(ground: Ground) -> Asked:
    place = _project(ground)
    for name in ("big", "small"):
        place.create("/clusters", {"name": name, "parent": "one"})
    job = {"type": "job", "parent": "one", "name": "nightly", "relations": {"cluster": [{"to": "big"}]}}
    place.create("/resources", job)
    return Asked("/resources/nightly/move-to-cluster", {"cluster": "small"})


_CHANGE = {"resource": "orders", "name": "sales"}


def _mesh(ground: Ground) -> OrganizationClient:
    place = ground.place("datamesh")
    place.create("/resources", {"type": "team", "parent": "organization", "name": "shop"})
    for name, role in (("ann", "owner"), ("ben", "member")):
        place.add(name)
        assert place.give(name, role, "shop").status_code == 201
    owner = {"owner": [{"to": "shop"}]}
    place.create(
        "/resources",
        {"type": "data_product", "parent": "organization", "name": "orders", "relations": owner},
    )
    place.control.execute(ChangeSetting(place.opened.id, "change_process", "true"), None)
    return place


def _change(ground: Ground) -> Asked:
    ground.secret = _mesh(ground).tokens["ben"]
    return Asked("/change-requests", _CHANGE)


def _decided(verb: str) -> Prepare:
    def asked(ground: Ground) -> Asked:
        place = _mesh(ground)
        ground.secret = place.tokens["ann"]
        return Asked(f"/change-requests/{place.create('/change-requests', _CHANGE, by='ben')}/{verb}")

    return asked


_OWNED = {"name": "sold", "relations": {"owner": [{"to": "shop"}]}}


def _owned(path: str) -> Prepare:
    """Return a request to create a resource that a team owns."""

    def asked(ground: Ground) -> Asked:
        ground.secret = _mesh(ground).tokens["ann"]
        return Asked(path, _OWNED)

    return asked


def _access(ground: Ground) -> Asked:
    place = _mesh(ground)
    place.create("/resources", {"type": "output_port", "parent": "orders", "name": "port"}, by="ann")
    place.add("eve")
    ground.secret = place.tokens["eve"]
    return Asked("/access", {"port": "orders.port", "purpose": "to know"})


def _role(ground: Ground) -> Asked:
    assert ground.place("datamesh").call("owner", "PUT", "/roles/new", {"permissions": []}).status_code == 200
    return Asked("/roles/new")


_WISH = {"action": "database.describe", "resource": "lake.raw", "purpose": "to know"}


def _wish(verb: str, body: Any = None) -> Prepare:
    def asked(ground: Ground) -> Asked:
        place = ground.place()
        place.create("/databases", {"name": "raw"})
        place.add("vic")
        return Asked(f"/requests/{place.create('/requests', _WISH, by='vic')}/{verb}", body)

    return asked


def _operated(path: str, body: Any = None) -> Prepare:
    def asked(ground: Ground) -> Asked:
        place = ground.place()
        ground.operator()
        return Asked(f"/deployment/organizations/{place.opened.id}{path}", body)

    return asked


def _new_model(ground: Ground) -> Asked:
    ground.operator()
    source = HARBOUR.replace("model: harbour", f"model: harbour{next(_NUMBERS)}")
    return Asked("/deployment/models", {"source": source})


def _unused_model(ground: Ground) -> Asked:
    ground.operator()
    model = load_source(HARBOUR.replace("model: harbour", f"model: harbour{next(_NUMBERS)}"), "harbour.yaml")
    ground.world.deployment.organizations.deployment.control.execute(InstallModel(model), None)
    return Asked(f"/deployment/models/{model.model.name}", None)


def _begun(ground: Ground) -> Asked:
    ground.operator()
    return Asked("/organizations", {"name": f"begun-{next(_NUMBERS)}", "model": "nekt"})


PREPARED: Mapping[str, Prepare] = {
    "POST /organizations": _begun,
    "POST /deployment/organizations/{organization}/suspend": _operated("/suspend", {"why": "unpaid"}),
    "POST /deployment/organizations/{organization}/resume": _operated("/resume"),
    "DELETE /deployment/organizations/{organization}": _operated(""),
    "PUT /deployment/organizations/{organization}/model": _operated("/model", {"model": "nekt"}),
    "POST /deployment/models": _new_model,
    "DELETE /deployment/models/{model}": _unused_model,
    "POST /tokens": _always("/tokens", {}),
    "DELETE /tokens/{token}": _of_made("/tokens", {}, "/tokens/{}"),
    "POST /invitations": _always("/invitations", {}),
    "DELETE /invitations/{id}": _of_made("/invitations", {}, "/invitations/{}"),
    "POST /connections": _always("/connections", _FOLDER),
    "DELETE /connections/{connection}": _of_made("/connections", _FOLDER, "/connections/{}"),
    "PUT /connections/{connection}/secret": _of_made(
        "/connections", _HTTP, "/connections/{}/secret", {"headers": {"x": "2"}}
    ),
    "PUT /pipelines/{pipeline}": _pipeline("/pipelines/load", _SOURCE, saved=False),
    "DELETE /pipelines/{pipeline}": _pipeline("/pipelines/load"),
    "POST /pipelines/{pipeline}/activate": _pipeline("/pipelines/load/activate", state="deactivate"),
    "POST /pipelines/{pipeline}/deactivate": _pipeline("/pipelines/load/deactivate"),
    "POST /pipelines/{pipeline}/streams": _pipeline("/pipelines/load/streams", _stream("b")),
    "POST /pipelines/{pipeline}/streams/{stream}/disable": _pipeline("/pipelines/load/streams/a/disable"),
    "POST /pipelines/{pipeline}/streams/{stream}/enable": _pipeline("/pipelines/load/streams/a/enable"),
    "POST /pipelines/{pipeline}/runs": _query("/pipelines/q/runs"),
    "POST /pipelines/{pipeline}/backfill": _query("/pipelines/q/backfill", {"since": 1, "until": 9, "step": 4}),
    "POST /runs/{run}/cancel": _run("cancel", "queued"),
    "POST /runs/{run}/retry": _run("retry", "failed"),
    "POST /resources/{resource_name}/move-to-cluster": _cluster,
    "POST /clusters": _new_cluster,
    "POST /data-contracts": _owned("/data-contracts"),
    "POST /data-products": _owned("/data-products"),
    "POST /access": _access,
    "DELETE /roles/{role}": _role,
    "POST /change-requests": _change,
    "POST /change-requests/{request}/approve": _decided("approve"),
    "POST /change-requests/{request}/reject": _decided("reject"),
    "POST /requests": _always("/requests", _WISH),
    "POST /requests/{request}/approve": _wish("approve", {}),
    "POST /requests/{request}/reject": _wish("reject"),
}
"""The request of each route, in a new organization."""
