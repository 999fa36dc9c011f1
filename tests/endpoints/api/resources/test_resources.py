"""Resources over HTTP: created, shown, changed, described and deleted, under each of the models."""

from typing import Any

import pytest

from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make


@pytest.fixture
def acme(make: Make) -> OrganizationClient:
    """An organization of `nekt` with the databases `raw`, which ed may edit, and `secret`."""
    place = make()
    for name in ("raw", "secret"):
        made(place, "database", "lake", name)
    place.add("vic")
    place.add("ed")
    place.give("ed", "editor", "lake.raw")
    return place


@pytest.fixture
def mesh(make: Make) -> OrganizationClient:
    """An organization of `datamesh` with a team and its product; ann owns the team, ben is a member of the organization."""
    place = make("datamesh")
    place.add("ann")
    place.add("ben")
    made(place, "team", "organization", "shop")
    place.give("ann", "owner", "shop")
    made(place, "data_product", "organization", "orders", relations={"owner": [{"to": "shop"}]})
    return place


def made(place: OrganizationClient, type: str, parent: str, name: str, by: str = "owner", **more: Any) -> str:
    """Create a resource and return its id."""
    answer = place.call(by, "POST", "/resources", {"type": type, "parent": parent, "name": name, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


class TestMaking:
    def test_a_created_resource_has_an_id_a_version_and_its_full_name(self, acme: OrganizationClient) -> None:
        answer = acme.call("ed", "POST", "/resources", {"type": "table", "parent": "lake.raw", "name": "flights"})

        assert answer.status_code == 201
        shown = acme.call("ed", "GET", f"/resources/{answer.json()['id']}")
        assert shown.json()["name"] == answer.json()["name"] == "lake.raw.flights"
        assert shown.json()["version"] == answer.json()["version"]
        assert shown.headers["etag"] == answer.headers["etag"]
        assert "table.insert" in shown.json()["actions"]

    def test_a_dry_run_of_a_creation_writes_nothing(self, acme: OrganizationClient) -> None:
        before = acme.control.snapshot.revision
        body = {"type": "database", "parent": "lake", "name": "new"}

        answer = acme.call("owner", "POST", "/resources", body, dry_run=True)

        assert answer.status_code == 200
        assert answer.json()["changes"][0]["change"] == "ResourceCreated"
        assert acme.control.snapshot.revision == before

    def test_a_creation_repeated_under_one_key_happens_once(self, acme: OrganizationClient) -> None:
        body = {"type": "database", "parent": "lake", "name": "new"}

        first, second = (
            acme.send("owner", "POST", "/resources", body, {"idempotency-key": "k"}).json() for _ in range(2)
        )

        assert first["id"] == second["id"]

    def test_a_refused_creation_names_the_missing_role(self, acme: OrganizationClient) -> None:
        acme.give("vic", "viewer", "lake.raw")

        answer = acme.call("vic", "POST", "/resources", {"type": "table", "parent": "lake.raw", "name": "t"})

        assert answer.status_code == 403
        assert "`editor` on `lake.raw`" in answer.json()["detail"]

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"type": "table", "parent": "lake.raw", "name": "a.b"}, 422),
            ({"type": "table", "parent": "lake.raw", "name": "t", "creator": "vic"}, 422),
            ({"type": "connection", "parent": "project", "name": "c"}, 422),
            ({"type": "group", "parent": "organization", "name": "g"}, 422),
            ({"type": "cluster", "parent": "project", "name": "c"}, 422),
            ({"type": "database", "parent": "lake", "name": "raw"}, 409),
            ({"type": "table", "parent": "lake.nosuch", "name": "t"}, 404),
        ],
    )
    def test_an_invalid_creation_is_refused(self, acme: OrganizationClient, body: dict[str, str], status: int) -> None:
        assert acme.call("owner", "POST", "/resources", body).status_code == status


class TestLists:
    def test_a_resource_list_shows_only_resources_visible_to_the_caller(self, acme: OrganizationClient) -> None:
        names = {who: self.names(acme, who) for who in ("owner", "ed", "vic")}

        assert {"lake", "lake.raw", "lake.secret"} <= names["owner"]
        assert names["ed"] >= {"lake", "lake.raw"}
        assert "lake.secret" not in names["ed"]
        assert "lake.raw" not in names["vic"]

    def test_a_resource_list_can_be_filtered_by_type_parent_and_name(self, acme: OrganizationClient) -> None:
        made(acme, "table", "lake.raw", "t")

        assert self.names(acme, "ed", type="table") == {"lake.raw.t"}
        assert self.names(acme, "ed", parent="lake.raw") == {"lake.raw.t"}
        assert self.names(acme, "ed", name="lake.raw") == {"lake.raw"}
        assert acme.call("vic", "GET", "/resources", parent="lake.raw").status_code == 404
        children = acme.call("ed", "GET", "/resources/lake.raw/children").json()["items"]
        assert [each["name"] for each in children] == ["lake.raw.t"]

    def test_a_next_page_of_resources_continues_after_the_last_one(self, acme: OrganizationClient) -> None:
        first = acme.call("owner", "GET", "/databases", limit=1).json()
        second = acme.call("owner", "GET", "/databases", limit=1, cursor=first["next"]).json()

        assert [each["name"] for each in first["items"] + second["items"]] == ["lake.raw", "lake.secret"]
        assert second["next"] is None

    def test_a_resource_list_as_of_a_past_revision_needs_the_right_to_read_the_audit(
        self, acme: OrganizationClient
    ) -> None:
        before = acme.control.snapshot.revision
        made(acme, "table", "lake.raw", "t")

        assert self.names(acme, "owner", type="table", as_of=before) == set()
        assert acme.call("ed", "GET", "/resources", as_of=before).status_code == 403
        assert acme.call("owner", "GET", "/resources", as_of="soon").status_code == 422
        assert acme.call("owner", "GET", "/resources", at_least=before + 1).status_code == 200
        assert acme.call("owner", "GET", "/resources", at_least=before + 100).status_code == 409

    def names(self, acme: OrganizationClient, who: str, **query: Any) -> set[str]:
        answer = acme.call(who, "GET", "/resources", **query)
        assert answer.status_code == 200, answer.text
        return {each["name"] for each in answer.json()["items"]}


class TestChanging:
    def test_a_resource_change_contains_exactly_one_kind_of_change(self, acme: OrganizationClient) -> None:
        id = made(acme, "table", "lake.raw", "t")

        assert acme.call("ed", "PATCH", f"/resources/{id}", {"name": "u"}).status_code == 403
        assert acme.call("owner", "PATCH", f"/resources/{id}", {"name": "u"}).status_code == 200
        assert acme.call("ed", "GET", "/resources/lake.raw.u").json()["id"] == id
        assert acme.call("ed", "PATCH", f"/resources/{id}", {}).status_code == 422
        both = {"relations": {}, "attributes": {}}
        assert acme.call("ed", "PATCH", f"/resources/{id}", both).status_code == 422

    def test_a_resource_change_with_an_outdated_version_is_refused(self, acme: OrganizationClient) -> None:
        id = made(acme, "table", "lake.raw", "t")
        version = {"if-match": acme.call("ed", "GET", f"/resources/{id}").headers["etag"]}

        first = acme.send("ed", "PATCH", f"/resources/{id}", {"attributes": {"tags": ["a"]}}, version)
        second = acme.send("ed", "PATCH", f"/resources/{id}", {"attributes": {"tags": ["b"]}}, version)

        assert (first.status_code, second.status_code) == (200, 412)

    def test_a_hidden_resource_is_answered_like_a_missing_one(self, acme: OrganizationClient) -> None:
        for method, path, body in (
            ("GET", "", None),
            ("PATCH", "", {"name": "x"}),
            ("DELETE", "", None),
            ("GET", "/children", None),
            ("GET", "/description", None),
            ("PUT", "/description", {"text": "x"}),
            ("GET", "/document", None),
            ("PUT", "/document", {"a": 1}),
        ):
            answers = {
                (answer.status_code, answer.text.replace(name, "NAME"))
                for name in ("lake.secret", "lake.nosuch")
                for answer in [acme.call("vic", method, f"/resources/{name}{path}", body)]
            }

            assert len(answers) == 1
            assert next(iter(answers))[0] == 404

    def test_deleting_a_resource_deletes_its_descendants(self, acme: OrganizationClient) -> None:
        made(acme, "table", "lake.raw", "t")

        assert acme.call("ed", "DELETE", "/resources/lake.raw").status_code == 403
        assert acme.call("owner", "DELETE", "/resources/lake.raw").status_code == 200
        assert acme.call("owner", "GET", "/resources/lake.raw.t").status_code == 404

    def test_relations_can_be_changed_by_resource_names(self, acme: OrganizationClient) -> None:
        for name in ("t", "u"):
            made(acme, "table", "lake.raw", name)
        relations = {"inputs": [{"to": "lake.raw.t"}], "output_layers": [{"to": "lake.raw"}]}
        id = made(acme, "notebook", "project", "book", relations=relations)

        change = {"relations": {"inputs": [{"to": "lake.raw.u"}]}}
        assert acme.call("ed", "PATCH", f"/resources/{id}", change).status_code == 200

        shown = acme.call("ed", "GET", f"/resources/{id}").json()["relations"]
        assert [each["name"] for each in shown["inputs"]] == ["lake.raw.u"]
        hidden = {"relations": {"inputs": [{"to": "lake.secret"}]}}
        assert acme.call("ed", "PATCH", f"/resources/{id}", hidden).status_code == 404


class TestDescribing:
    def test_a_viewer_reads_a_description_and_cannot_change_it(self, acme: OrganizationClient) -> None:
        acme.give("vic", "viewer", "lake.raw")

        assert acme.call("ed", "PUT", "/resources/lake.raw/description", {"text": "as it came"}).status_code == 200
        assert acme.call("vic", "GET", "/resources/lake.raw/description").json() == {"text": "as it came"}
        assert acme.call("vic", "PUT", "/resources/lake.raw/description", {"text": "mine"}).status_code == 403

    def test_a_product_document_can_be_written_by_its_team_only(self, mesh: OrganizationClient) -> None:
        answer = mesh.call("ann", "PUT", "/resources/orders/document", {"status": "live"})

        assert answer.status_code == 200, answer.text
        assert mesh.call("ben", "GET", "/resources/orders/document").json() == {"document": {"status": "live"}}
        assert mesh.call("ben", "PUT", "/resources/orders/document", {}).status_code == 403
        assert mesh.call("ann", "GET", "/resources/shop/document").status_code == 422
        assert mesh.call("ann", "PUT", "/resources/orders/document", {"a": "x" * 300_000}).status_code == 422


class TestOtherModels:
    def test_a_product_is_created_by_an_owner_of_its_team(self, mesh: OrganizationClient) -> None:
        body = {"name": "more", "relations": {"owner": [{"to": "shop"}]}}

        assert mesh.call("ben", "POST", "/data-products", body).status_code == 403
        assert mesh.call("ann", "POST", "/data-products", body).status_code == 201
        assert [each["name"] for each in mesh.call("ben", "GET", "/data-products").json()["items"]] == [
            "more",
            "orders",
        ]

    def test_a_cluster_can_be_created_in_a_project(self, make: Make) -> None:
        place = make("onehouse")
        made(place, "project", "organization", "one")

        assert place.call("owner", "POST", "/clusters", {"name": "big", "parent": "one"}).status_code == 201

    def test_a_query_in_a_module_is_found_with_and_without_its_space(self, make: Make) -> None:
        place = make("y42")
        made(place, "project", "organization", "space")
        made(place, "module", "space", "models")
        made(place, "query", "models", "orders")

        assert place.call("owner", "GET", "/resources/models.orders").json()["type"] == "query"
        assert place.call("owner", "GET", "/resources/space.models.orders").json()["type"] == "query"
