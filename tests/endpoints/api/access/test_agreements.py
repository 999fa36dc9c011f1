"""Access to output ports over HTTP, from the request to the end of the agreement; and change requests."""

import pytest

from headgate.control.access.switches import ChangeSetting
from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import Place
from tests.endpoints.conftest import Make

PURPOSE = {"port": "orders.port", "purpose": "to know"}


@pytest.fixture
def mesh(make: Make) -> Place:
    """The team `shop` of ann owns `orders` with a port; ben and eve are members."""
    place = make("datamesh")
    for name in ("ann", "ben", "eve"):
        place.add(name)
    place.create("/resources", {"type": "team", "parent": "organization", "name": "shop"})
    place.give("ann", "owner", "shop")
    owner = {"owner": [{"to": "shop"}]}
    place.create("/resources", {"type": "data_product", "parent": "organization", "name": "orders", "relations": owner})
    place.create("/resources", {"type": "output_port", "parent": "orders", "name": "port"})
    return place


def state(place: Place, path: str) -> str:
    """Return the state that ben sees."""
    return place.call("ben", "GET", path).json()["state"]


class TestAccess:
    def test_goes_from_a_request_to_an_agreement_to_its_end(self, mesh: Place) -> None:
        id = mesh.create("/access", PURPOSE, by="ben")
        assert state(mesh, f"/access/{id}") == "requested"

        assert mesh.call("eve", "POST", f"/access/{id}/approve", {}).status_code == 403
        assert mesh.call("ann", "POST", f"/access/{id}/approve", {"ends": 4e9}).status_code == 200
        shown = mesh.call("ben", "GET", f"/access/{id}").json()
        assert (shown["state"], shown["active"], shown["ends"]) == ("approved", True, 4e9)
        assert (shown["consumer_name"], shown["port_name"], shown["purpose"]) == ("ben", "orders.port", "to know")

        assert mesh.call("ann", "PATCH", f"/access/{id}", {"purpose": "to see", "ends": None}).status_code == 200
        assert mesh.call("ben", "GET", f"/access/{id}").json()["purpose"] == "to see"
        assert mesh.call("ben", "GET", f"/access/{id}").json()["ends"] is None
        assert mesh.call("ben", "POST", f"/access/{id}/terminate").status_code == 200
        assert mesh.call("ann", "DELETE", f"/access/{id}").status_code == 200
        assert mesh.call("ben", "GET", f"/access/{id}").status_code == 404

    def test_is_rejected_or_added_by_who_may(self, mesh: Place) -> None:
        id = mesh.create("/access", PURPOSE, by="ben")

        assert mesh.call("ann", "POST", f"/access/{id}/reject").status_code == 200
        assert state(mesh, f"/access/{id}") == "rejected"
        assert mesh.call("ann", "POST", f"/access/{id}/approve", {}).status_code == 403
        assert mesh.call("ben", "POST", "/access/add", {**PURPOSE, "consumer": "ben"}).status_code == 403
        added = mesh.create("/access/add", {**PURPOSE, "consumer": "shop"}, by="ann")
        assert state(mesh, f"/access/{added}") == "approved"

    def test_a_caller_that_may_add_access_for_any_consumer_names_one_that_it_may_not_see(self, mesh: Place) -> None:
        consumer = mesh.caller("ben").principal
        assert mesh.call("ann", "GET", "/users/ben").status_code == 404

        for name in ("ben", consumer):
            added = mesh.create("/access/add", {**PURPOSE, "consumer": name}, by="ann")
            assert mesh.control.snapshot.agreements[ResourceId(added)].consumer == consumer

    @pytest.mark.parametrize("path", ["/access", "/access/add"])
    def test_a_hidden_consumer_is_refused_to_other_callers_as_a_missing_one_is(self, mesh: Place, path: str) -> None:
        hidden = mesh.call("eve", "POST", path, {**PURPOSE, "consumer": "ben"})
        missing = mesh.call("eve", "POST", path, {**PURPOSE, "consumer": "zoe"})

        assert (hidden.status_code, missing.status_code) == (404, 404)
        assert hidden.text.replace("ben", "zoe") == missing.text

    def test_is_approved_at_once_where_the_port_says_so(self, mesh: Place) -> None:
        change = {"attributes": {"auto_approve": ["true"]}}
        assert mesh.call("ann", "PATCH", "/resources/orders.port", change).status_code == 200

        assert state(mesh, f"/access/{mesh.create('/access', PURPOSE, by='ben')}") == "approved"

    def test_is_listed_by_port_and_state(self, mesh: Place) -> None:
        mesh.create("/access", PURPOSE, by="ben")

        assert len(mesh.call("eve", "GET", "/access", port="orders.port", state="requested").json()["items"]) == 1
        assert mesh.call("eve", "GET", "/access", state="approved").json()["items"] == []
        assert mesh.call("eve", "GET", "/access", port="nosuch").status_code == 404
        assert mesh.call("eve", "GET", "/access", state="lost").status_code == 422

    def test_a_dry_run_a_repeated_request_and_an_old_version(self, mesh: Place) -> None:
        assert mesh.call("ben", "POST", "/access", PURPOSE, dry_run=True).json()["dry_run"]
        assert mesh.call("ben", "GET", "/access").json()["items"] == []
        ids = {mesh.send("ben", "POST", "/access", PURPOSE, {"idempotency-key": "k"}).json()["id"] for _ in range(2)}
        assert len(ids) == 1
        path = f"/access/{ids.pop()}"
        etag = {"if-match": mesh.call("ann", "GET", path).headers["etag"]}
        assert mesh.send("ann", "POST", f"{path}/approve", {}, etag).status_code == 200
        assert mesh.send("ann", "POST", f"{path}/terminate", None, etag).status_code == 412

    @pytest.mark.parametrize("verb", ["approve", "reject"])
    def test_an_approval_of_another_purpose_than_was_read_is_refused(self, mesh: Place, verb: str) -> None:
        path = f"/access/{mesh.create('/access', PURPOSE, by='ben')}"
        etag = {"if-match": mesh.call("ann", "GET", path).headers["etag"]}
        assert mesh.call("ben", "PATCH", path, {"purpose": "to sell it"}).status_code == 200

        assert mesh.send("ann", "POST", f"{path}/{verb}", {}, etag).status_code == 412
        etag = {"if-match": mesh.call("ann", "GET", path).headers["etag"]}
        assert mesh.send("ann", "POST", f"{path}/{verb}", {}, etag).status_code == 200

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"port": "orders.port", "purpose": " "}, 403),
            ({"port": "orders.port"}, 422),
            ({"port": "nosuch", "purpose": "x"}, 404),
            ({"port": "orders", "purpose": "x"}, 404),
            ({**PURPOSE, "consumer": "nobody"}, 404),
            ({**PURPOSE, "state": "approved"}, 422),
        ],
    )
    def test_what_cannot_be_asked_for_is_refused(self, mesh: Place, body: dict[str, str], status: int) -> None:
        assert mesh.call("ben", "POST", "/access", body).status_code == status

    def test_what_is_missing_is_missing_for_every_verb(self, mesh: Place) -> None:
        for method, verb in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/reject"), ("POST", "/terminate")):
            body = {} if method == "PATCH" else None
            assert mesh.call("ann", method, f"/access/orders{verb}", body).status_code == 404


class TestChangeRequests:
    @pytest.fixture(autouse=True)
    def process(self, mesh: Place) -> None:
        """Changes have to be approved; ben is a member of the team too."""
        root = mesh.control.snapshot.organization
        assert root
        mesh.control.execute(ChangeSetting(root, "change_process", "true"), None)
        mesh.give("ben", "member", "shop")

    def test_an_approved_change_is_made_at_the_same_revision(self, mesh: Place) -> None:
        change = {"resource": "orders", "name": "sales", "why": "as everybody says"}
        id = mesh.create("/change-requests", change, by="ben")
        shown = mesh.call("ann", "GET", f"/change-requests/{id}").json()
        assert (shown["change"], shown["why"], shown["author"]) == ({"name": "sales"}, "as everybody says", "ben")

        foreseen = mesh.call("ann", "POST", f"/change-requests/{id}/approve", dry_run=True).json()["changes"]
        assert [each["change"] for each in foreseen] == ["ChangeDecided", "ResourceRenamed"]
        revision = mesh.call("ann", "POST", f"/change-requests/{id}/approve").json()["revision"]

        renamed = mesh.call("ben", "GET", "/resources/sales").json()
        assert renamed["revision"] == revision
        assert mesh.call("ann", "POST", f"/change-requests/{id}/approve").status_code == 403

    def test_a_document_can_be_changed_so_too(self, mesh: Place) -> None:
        id = mesh.create("/change-requests", {"resource": "orders", "document": {"status": "live"}}, by="ben")

        assert mesh.call("ben", "POST", f"/change-requests/{id}/approve").status_code == 403
        assert mesh.call("ann", "POST", f"/change-requests/{id}/approve").status_code == 200
        assert mesh.call("ben", "GET", "/resources/orders/document").json()["document"] == {"status": "live"}

    def test_a_rejected_one_comes_to_nothing(self, mesh: Place) -> None:
        id = mesh.create("/change-requests", {"resource": "orders", "name": "sales"}, by="ben")

        assert mesh.call("ann", "POST", f"/change-requests/{id}/reject").status_code == 200
        assert [each["state"] for each in mesh.call("ben", "GET", "/change-requests").json()["items"]] == ["rejected"]
        assert mesh.call("ben", "GET", "/change-requests", state="requested").json()["items"] == []
        assert mesh.call("ben", "GET", "/resources/sales").status_code == 404

    def test_says_one_thing(self, mesh: Place) -> None:
        for body in ({}, {"name": "a", "description": "b"}, {"color": "red"}):
            assert mesh.call("ben", "POST", "/change-requests", {"resource": "orders", **body}).status_code == 422
        assert mesh.call("ben", "POST", "/change-requests", {"resource": "nosuch", "name": "a"}).status_code == 404
