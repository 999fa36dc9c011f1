"""Organizations on a server, and the command line of their users."""

from collections.abc import Iterator

import pytest

from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, world_in
from tests.cli.api.commands import Commands


@pytest.fixture(scope="package")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("deployment")) as opened:
        yield opened


@pytest.fixture(scope="package")
def url(deployment: DeploymentHarness) -> str:
    return str(deployment.http.base_url).rstrip("/")


@pytest.fixture(scope="package")
def lake(deployment: DeploymentHarness) -> OrganizationClient:
    """An organization with a lake. ann is a manager of `lake.raw`; vic and tom, who may see it, are members."""
    place = deployment.organization("with-lake", "nekt")
    place.create("/databases", {"name": "raw"})
    for name, role in {"ann": "manager", "vic": "viewer", "tom": "viewer"}.items():
        place.add(name)
        assert place.give(name, role, "lake.raw").status_code == 201
    return place


@pytest.fixture(scope="package")
def mesh(deployment: DeploymentHarness) -> OrganizationClient:
    """A data mesh. The team `shop` of ann, with the member tim, owns the product `orders` with a port; ben is in no team."""
    place = deployment.organization("mesh", "datamesh")
    for name in ("ann", "ben", "tim"):
        place.add(name)
    place.create("/resources", {"type": "team", "parent": "organization", "name": "shop"})
    assert place.give("ann", "owner", "shop").status_code == 201
    assert place.give("tim", "member", "shop").status_code == 201
    owner = {"owner": [{"to": "shop"}]}
    place.create("/resources", {"type": "data_product", "parent": "organization", "name": "orders", "relations": owner})
    place.create("/resources", {"type": "output_port", "parent": "orders", "name": "port"})
    return place


@pytest.fixture
def on_lake(monkeypatch: pytest.MonkeyPatch, url: str, lake: OrganizationClient) -> Commands:
    return Commands(monkeypatch, url, lake)


@pytest.fixture
def on_mesh(monkeypatch: pytest.MonkeyPatch, url: str, mesh: OrganizationClient) -> Commands:
    return Commands(monkeypatch, url, mesh)
