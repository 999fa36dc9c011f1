"""A dry run reports which decisions would change for which principals, limited to what the caller may discover."""

import pytest

from headgate.control.resources.commands import CreateResource
from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make


@pytest.fixture
def acme(make: Make) -> OrganizationClient:
    place = make()
    assert place.call("owner", "POST", "/databases", {"name": "raw"}).status_code == 201
    return place


def test_a_dry_run_reports_no_effects_on_users_hidden_from_the_caller(acme: OrganizationClient) -> None:
    for name in ("mia", "vic", "sam"):
        acme.add(name)
    assert acme.call("owner", "POST", "/groups", {"name": "readers"}).status_code == 201
    for name in ("mia", "sam"):
        assert acme.call("owner", "PUT", f"/groups/readers/members/{name}").status_code == 200
    assert acme.give("mia", "manager", "lake.raw").status_code == 201
    said = {"subject": "readers", "role": "viewer", "resource": "lake.raw"}

    by_owner = acme.call("owner", "POST", "/assignments", said, dry_run=True).json()
    by_manager = acme.call("mia", "POST", "/assignments", said, dry_run=True).json()

    assert {each["name"] for each in by_owner["effects"]} == {"sam"}
    assert by_manager["dry_run"] is True
    assert by_manager["effects"] == []
    assert by_manager["more_effects"] == 0


def test_a_dry_run_reports_the_effects_on_the_user_that_it_names(acme: OrganizationClient) -> None:
    for name in ("mia", "vic"):
        acme.add(name)
    assert acme.give("mia", "manager", "lake.raw").status_code == 201

    said = {"subject": "vic", "role": "viewer", "resource": "lake.raw"}
    found = acme.call("mia", "POST", "/assignments", said, dry_run=True).json()

    assert "database.describe" in {done["action"] for each in found["effects"] for done in each["gained"]}


def test_a_dry_run_of_a_delete_does_not_list_hidden_resources_that_go_with_it(make: Make) -> None:
    acme = make("y42")
    root = acme.opened.id
    for id, type, parent in (
        ("p", "project", root),
        ("layer", "publish_layer", "p"),
        ("view", "published_view", "layer"),
    ):
        acme.control.execute(CreateResource(ResourceId(id), type, ResourceId(parent), id), None)
    assert acme.call("owner", "GET", "/resources/view").status_code == 404

    told = acme.call("owner", "DELETE", "/resources/layer", dry_run=True)

    assert told.status_code == 200, told.text
    assert {"change": "ResourceDeleted", "resource": "layer"} in told.json()["changes"]
    assert "view" not in [each["resource"] for each in told.json()["changes"]]
