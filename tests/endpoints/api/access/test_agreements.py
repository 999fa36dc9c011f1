"""Access to output ports over HTTP, from the request to the end of the agreement, and change requests."""

import pytest

from headgate.control.access.switches import ChangeSetting
from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make

PURPOSE = {"port": "orders.port", "purpose": "to know"}


@pytest.fixture
def mesh(make: Make) -> OrganizationClient:
    """The team `shop`, which ann owns, owns `orders` with a port; ben and eve are members of the organization."""
    place = make("datamesh")
    for name in ("ann", "ben", "eve"):
        place.add(name)
    place.create("/resources", {"type": "team", "parent": "organization", "name": "shop"})
    place.give("ann", "owner", "shop")
    owner = {"owner": [{"to": "shop"}]}
    place.create("/resources", {"type": "data_product", "parent": "organization", "name": "orders", "relations": owner})
    place.create("/resources", {"type": "output_port", "parent": "orders", "name": "port"})
    return place


def state(place: OrganizationClient, path: str) -> str:
    """Return the state that ben sees."""
    return place.call("ben", "GET", path).json()["state"]


class TestAccess:
    def test_an_access_request_is_approved_changed_terminated_and_deleted(self, mesh: OrganizationClient) -> None:
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

    def test_a_port_owner_rejects_access_requests_and_adds_access(self, mesh: OrganizationClient) -> None:
        id = mesh.create("/access", PURPOSE, by="ben")

        assert mesh.call("ann", "POST", f"/access/{id}/reject").status_code == 200
        assert state(mesh, f"/access/{id}") == "rejected"
        assert mesh.call("ann", "POST", f"/access/{id}/approve", {}).status_code == 403
        assert mesh.call("ben", "POST", "/access/add", {**PURPOSE, "consumer": "ben"}).status_code == 403
        added = mesh.create("/access/add", {**PURPOSE, "consumer": "shop"}, by="ann")
        assert state(mesh, f"/access/{added}") == "approved"

    def test_a_caller_that_may_add_access_can_name_a_hidden_consumer(self, mesh: OrganizationClient) -> None:
        consumer = mesh.caller("ben").principal
        assert mesh.call("ann", "GET", "/users/ben").status_code == 404

        for name in ("ben", consumer):
            added = mesh.create("/access/add", {**PURPOSE, "consumer": name}, by="ann")
            assert mesh.control.snapshot.agreements[ResourceId(added)].consumer == consumer

    @pytest.mark.parametrize("path", ["/access", "/access/add"])
    def test_a_hidden_consumer_is_answered_to_other_callers_like_a_missing_one(
        self, mesh: OrganizationClient, path: str
    ) -> None:
        hidden = mesh.call("eve", "POST", path, {**PURPOSE, "consumer": "ben"})
        missing = mesh.call("eve", "POST", path, {**PURPOSE, "consumer": "zoe"})

        assert (hidden.status_code, missing.status_code) == (404, 404)
        assert hidden.text.replace("ben", "zoe") == missing.text

    def test_an_access_request_to_an_auto_approving_port_is_approved_at_once(self, mesh: OrganizationClient) -> None:
        change = {"attributes": {"auto_approve": ["true"]}}
        assert mesh.call("ann", "PATCH", "/resources/orders.port", change).status_code == 200

        assert state(mesh, f"/access/{mesh.create('/access', PURPOSE, by='ben')}") == "approved"

    def test_the_list_of_access_can_be_filtered_by_port_and_state(self, mesh: OrganizationClient) -> None:
        mesh.create("/access", PURPOSE, by="ben")

        assert len(mesh.call("eve", "GET", "/access", port="orders.port", state="requested").json()["items"]) == 1
        assert mesh.call("eve", "GET", "/access", state="approved").json()["items"] == []
        assert mesh.call("eve", "GET", "/access", port="nosuch").status_code == 404
        assert mesh.call("eve", "GET", "/access", state="lost").status_code == 422

    def test_access_requests_honor_dry_runs_idempotency_keys_and_versions(self, mesh: OrganizationClient) -> None:
        assert mesh.call("ben", "POST", "/access", PURPOSE, dry_run=True).json()["dry_run"]
        assert mesh.call("ben", "GET", "/access").json()["items"] == []
        ids = {mesh.send("ben", "POST", "/access", PURPOSE, {"idempotency-key": "k"}).json()["id"] for _ in range(2)}
        assert len(ids) == 1
        path = f"/access/{ids.pop()}"
        etag = {"if-match": mesh.call("ann", "GET", path).headers["etag"]}
        assert mesh.send("ann", "POST", f"{path}/approve", {}, etag).status_code == 200
        assert mesh.send("ann", "POST", f"{path}/terminate", None, etag).status_code == 412

    @pytest.mark.parametrize("verb", ["approve", "reject"])
    def test_a_decision_on_an_access_request_changed_since_it_was_read_is_refused(
        self, mesh: OrganizationClient, verb: str
    ) -> None:
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
    def test_an_invalid_access_request_is_refused(
        self, mesh: OrganizationClient, body: dict[str, str], status: int
    ) -> None:
        assert mesh.call("ben", "POST", "/access", body).status_code == status

    def test_a_missing_agreement_is_missing_for_every_method(self, mesh: OrganizationClient) -> None:
        for method, verb in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/reject"), ("POST", "/terminate")):
            body = {} if method == "PATCH" else None
            assert mesh.call("ann", method, f"/access/orders{verb}", body).status_code == 404


class TestChangeRequests:
    @pytest.fixture(autouse=True)
    def process(self, mesh: OrganizationClient) -> None:
        """Require approval of changes, and add ben to the team."""
        root = mesh.control.snapshot.organization
        assert root
        mesh.control.execute(ChangeSetting(root, "change_process", "true"), None)
        mesh.give("ben", "member", "shop")

    def test_an_approved_change_is_applied_at_the_revision_of_its_approval(self, mesh: OrganizationClient) -> None:
        change = {"resource": "orders", "name": "sales", "why": "the usual name"}
        id = mesh.create("/change-requests", change, by="ben")
        shown = mesh.call("ann", "GET", f"/change-requests/{id}").json()
        assert (shown["change"], shown["why"], shown["author"]) == ({"name": "sales"}, "the usual name", "ben")

        foreseen = mesh.call("ann", "POST", f"/change-requests/{id}/approve", dry_run=True).json()["changes"]
        assert [each["change"] for each in foreseen] == ["ChangeDecided", "ResourceRenamed"]
        revision = mesh.call("ann", "POST", f"/change-requests/{id}/approve").json()["revision"]

        renamed = mesh.call("ben", "GET", "/resources/sales").json()
        assert renamed["revision"] == revision
        assert mesh.call("ann", "POST", f"/change-requests/{id}/approve").status_code == 403

    def test_a_document_can_be_changed_by_a_change_request(self, mesh: OrganizationClient) -> None:
        id = mesh.create("/change-requests", {"resource": "orders", "document": {"status": "live"}}, by="ben")

        assert mesh.call("ben", "POST", f"/change-requests/{id}/approve").status_code == 403
        assert mesh.call("ann", "POST", f"/change-requests/{id}/approve").status_code == 200
        assert mesh.call("ben", "GET", "/resources/orders/document").json()["document"] == {"status": "live"}

    def test_a_rejected_change_request_changes_nothing(self, mesh: OrganizationClient) -> None:
        id = mesh.create("/change-requests", {"resource": "orders", "name": "sales"}, by="ben")

        assert mesh.call("ann", "POST", f"/change-requests/{id}/reject").status_code == 200
        assert [each["state"] for each in mesh.call("ben", "GET", "/change-requests").json()["items"]] == ["rejected"]
        assert mesh.call("ben", "GET", "/change-requests", state="requested").json()["items"] == []
        assert mesh.call("ben", "GET", "/resources/sales").status_code == 404

    def test_a_change_request_with_no_or_several_changes_is_refused(self, mesh: OrganizationClient) -> None:
        for body in ({}, {"name": "a", "description": "b"}, {"color": "red"}):
            assert mesh.call("ben", "POST", "/change-requests", {"resource": "orders", **body}).status_code == 422
        assert mesh.call("ben", "POST", "/change-requests", {"resource": "nosuch", "name": "a"}).status_code == 404
