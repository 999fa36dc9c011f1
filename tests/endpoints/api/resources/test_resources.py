"""Resources over HTTP: made, shown, changed, described and deleted, under each of the models."""

from typing import Any

import pytest

from tests.app.deployment_harness import Place
from tests.endpoints.conftest import Make


@pytest.fixture
def acme(make: Make) -> Place:
    """An organization of `nekt` with the databases `raw`, which ed may edit, and `secret`."""
    place = make()
    for name in ("raw", "secret"):
        made(place, "database", "lake", name)
    place.add("vic")
    place.add("ed")
    place.give("ed", "editor", "lake.raw")
    return place


@pytest.fixture
def mesh(make: Make) -> Place:
    """An organization of `datamesh` with a team and its product; ann owns the team, ben is a member."""
    place = make("datamesh")
    place.add("ann")
    place.add("ben")
    made(place, "team", "organization", "shop")
    place.give("ann", "owner", "shop")
    made(place, "data_product", "organization", "orders", relations={"owner": [{"to": "shop"}]})
    return place


def made(place: Place, type: str, parent: str, name: str, by: str = "owner", **more: Any) -> str:
    """Make a resource and return its id."""
    answer = place.call(by, "POST", "/resources", {"type": type, "parent": parent, "name": name, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


class TestMaking:
    def test_gives_an_id_a_version_and_the_full_name(self, acme: Place) -> None:
        answer = acme.call("ed", "POST", "/resources", {"type": "table", "parent": "lake.raw", "name": "flights"})

        assert answer.status_code == 201
        shown = acme.call("ed", "GET", f"/resources/{answer.json()['id']}")
        assert shown.json()["name"] == answer.json()["name"] == "lake.raw.flights"
        assert shown.json()["version"] == answer.json()["version"]
        assert shown.headers["etag"] == answer.headers["etag"]
        assert "table.insert" in shown.json()["actions"]

    def test_a_dry_run_writes_nothing(self, acme: Place) -> None:
        before = acme.control.snapshot.revision
        body = {"type": "database", "parent": "lake", "name": "new"}

        answer = acme.call("owner", "POST", "/resources", body, dry_run=True)

        assert answer.status_code == 200
        assert answer.json()["changes"][0]["change"] == "ResourceCreated"
        assert acme.control.snapshot.revision == before

    def test_is_done_once_for_one_key(self, acme: Place) -> None:
        body = {"type": "database", "parent": "lake", "name": "new"}

        first, second = (
            acme.send("owner", "POST", "/resources", body, {"idempotency-key": "k"}).json() for _ in range(2)
        )

        assert first["id"] == second["id"]

    def test_a_refusal_says_what_is_missing(self, acme: Place) -> None:
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
    def test_what_cannot_be_is_refused(self, acme: Place, body: dict[str, str], status: int) -> None:
        assert acme.call("owner", "POST", "/resources", body).status_code == status


class TestLists:
    def test_show_what_the_caller_may_see(self, acme: Place) -> None:
        names = {who: self.names(acme, who) for who in ("owner", "ed", "vic")}

        assert {"lake", "lake.raw", "lake.secret"} <= names["owner"]
        assert names["ed"] >= {"lake", "lake.raw"}
        assert "lake.secret" not in names["ed"]
        assert "lake.raw" not in names["vic"]

    def test_are_of_a_type_a_parent_or_a_name(self, acme: Place) -> None:
        made(acme, "table", "lake.raw", "t")

        assert self.names(acme, "ed", type="table") == {"lake.raw.t"}
        assert self.names(acme, "ed", parent="lake.raw") == {"lake.raw.t"}
        assert self.names(acme, "ed", name="lake.raw") == {"lake.raw"}
        assert acme.call("vic", "GET", "/resources", parent="lake.raw").status_code == 404
        children = acme.call("ed", "GET", "/resources/lake.raw/children").json()["items"]
        assert [each["name"] for each in children] == ["lake.raw.t"]

    def test_go_on_where_the_last_page_ended(self, acme: Place) -> None:
        first = acme.call("owner", "GET", "/databases", limit=1).json()
        second = acme.call("owner", "GET", "/databases", limit=1, cursor=first["next"]).json()

        assert [each["name"] for each in first["items"] + second["items"]] == ["lake.raw", "lake.secret"]
        assert second["next"] is None

    def test_are_of_the_past_for_who_may_read_the_audit(self, acme: Place) -> None:
        before = acme.control.snapshot.revision
        made(acme, "table", "lake.raw", "t")

        assert self.names(acme, "owner", type="table", as_of=before) == set()
        assert acme.call("ed", "GET", "/resources", as_of=before).status_code == 403
        assert acme.call("owner", "GET", "/resources", as_of="soon").status_code == 422
        assert acme.call("owner", "GET", "/resources", at_least=before + 1).status_code == 200
        assert acme.call("owner", "GET", "/resources", at_least=before + 100).status_code == 409

    def names(self, acme: Place, who: str, **query: Any) -> set[str]:
        answer = acme.call(who, "GET", "/resources", **query)
        assert answer.status_code == 200, answer.text
        return {each["name"] for each in answer.json()["items"]}


class TestChanging:
    def test_one_thing_at_a_time(self, acme: Place) -> None:
        id = made(acme, "table", "lake.raw", "t")

        assert acme.call("ed", "PATCH", f"/resources/{id}", {"name": "u"}).status_code == 403
        assert acme.call("owner", "PATCH", f"/resources/{id}", {"name": "u"}).status_code == 200
        assert acme.call("ed", "GET", "/resources/lake.raw.u").json()["id"] == id
        assert acme.call("ed", "PATCH", f"/resources/{id}", {}).status_code == 422
        both = {"relations": {}, "attributes": {}}
        assert acme.call("ed", "PATCH", f"/resources/{id}", both).status_code == 422

    def test_a_version_that_is_over_is_refused(self, acme: Place) -> None:
        id = made(acme, "table", "lake.raw", "t")
        version = {"if-match": acme.call("ed", "GET", f"/resources/{id}").headers["etag"]}

        first = acme.send("ed", "PATCH", f"/resources/{id}", {"attributes": {"tags": ["a"]}}, version)
        second = acme.send("ed", "PATCH", f"/resources/{id}", {"attributes": {"tags": ["b"]}}, version)

        assert (first.status_code, second.status_code) == (200, 412)

    def test_hidden_and_missing_are_the_same(self, acme: Place) -> None:
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

    def test_deleting_takes_everything_below(self, acme: Place) -> None:
        made(acme, "table", "lake.raw", "t")

        assert acme.call("ed", "DELETE", "/resources/lake.raw").status_code == 403
        assert acme.call("owner", "DELETE", "/resources/lake.raw").status_code == 200
        assert acme.call("owner", "GET", "/resources/lake.raw.t").status_code == 404

    def test_relations_are_changed_by_names(self, acme: Place) -> None:
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
    def test_is_for_who_may_and_is_read_by_who_may(self, acme: Place) -> None:
        acme.give("vic", "viewer", "lake.raw")

        assert acme.call("ed", "PUT", "/resources/lake.raw/description", {"text": "as it came"}).status_code == 200
        assert acme.call("vic", "GET", "/resources/lake.raw/description").json() == {"text": "as it came"}
        assert acme.call("vic", "PUT", "/resources/lake.raw/description", {"text": "mine"}).status_code == 403

    def test_a_product_has_a_document(self, mesh: Place) -> None:
        answer = mesh.call("ann", "PUT", "/resources/orders/document", {"status": "live"})

        assert answer.status_code == 200, answer.text
        assert mesh.call("ben", "GET", "/resources/orders/document").json() == {"document": {"status": "live"}}
        assert mesh.call("ben", "PUT", "/resources/orders/document", {}).status_code == 403
        assert mesh.call("ann", "GET", "/resources/shop/document").status_code == 422
        assert mesh.call("ann", "PUT", "/resources/orders/document", {"a": "x" * 300_000}).status_code == 422


class TestOtherModels:
    def test_a_product_is_made_for_its_team(self, mesh: Place) -> None:
        body = {"name": "more", "relations": {"owner": [{"to": "shop"}]}}

        assert mesh.call("ben", "POST", "/data-products", body).status_code == 403
        assert mesh.call("ann", "POST", "/data-products", body).status_code == 201
        assert [each["name"] for each in mesh.call("ben", "GET", "/data-products").json()["items"]] == [
            "more",
            "orders",
        ]

    def test_a_cluster_lies_in_a_project(self, make: Make) -> None:
        place = make("onehouse")
        made(place, "project", "organization", "one")

        assert place.call("owner", "POST", "/clusters", {"name": "big", "parent": "one"}).status_code == 201

    def test_a_space_s_modules_are_named_below_it(self, make: Make) -> None:
        place = make("y42")
        made(place, "project", "organization", "space")
        made(place, "module", "space", "models")
        made(place, "query", "models", "orders")

        assert place.call("owner", "GET", "/resources/models.orders").json()["type"] == "query"
        assert place.call("owner", "GET", "/resources/space.models.orders").json()["type"] == "query"
