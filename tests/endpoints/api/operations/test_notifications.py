"""Notifications over HTTP: what waits for the caller's approval, and the results of the caller's own requests."""

from pathlib import Path

from headgate.control.access.switches import ChangeSetting
from headgate.control.identity.principals import RemovePrincipal
from headgate.control.kernel.run_queue import RunRow, RunUpdate
from headgate.facts.ids import ResourceId, RunId
from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.api.pipelines.test_runs import saved
from tests.endpoints.conftest import Make
from tests.fakes.runs import begin, end


def told(place: OrganizationClient, who: str) -> list[tuple[str, str, str]]:
    answer = place.call(who, "GET", "/notifications")
    assert answer.status_code == 200, answer.text
    return [(each["kind"], each["about"], each["state"]) for each in answer.json()["items"]]


def test_a_request_notifies_its_approver_and_its_outcome_the_requester(make: Make) -> None:
    acme = make()
    acme.create("/databases", {"name": "raw"})
    acme.add("vic")
    body = {"action": "database.describe", "resource": "lake.raw", "purpose": "to know"}
    id = acme.create("/requests", body, by="vic")

    assert told(acme, "owner") == [("request", "lake.raw", "requested")]
    assert told(acme, "vic") == []
    assert acme.call("owner", "POST", f"/requests/{id}/reject").status_code == 200
    assert told(acme, "owner") == []
    assert told(acme, "vic") == [("request", "lake.raw", "rejected")]


def test_access_and_change_requests_notify_their_approver(make: Make) -> None:
    mesh = make("datamesh")
    for name in ("ann", "ben"):
        mesh.add(name)
    mesh.create("/resources", {"type": "team", "parent": "organization", "name": "shop"})
    mesh.give("ann", "owner", "shop")
    mesh.create("/data-products", {"name": "orders", "relations": {"owner": [{"to": "shop"}]}})
    mesh.create("/resources", {"type": "output_port", "parent": "orders", "name": "port"})
    root = mesh.control.snapshot.organization
    assert root
    mesh.control.execute(ChangeSetting(root, "change_process", "true"), None)
    mesh.give("ben", "member", "shop")
    mesh.create("/access", {"port": "orders.port", "purpose": "to know"}, by="ben")
    change = mesh.create("/change-requests", {"resource": "orders", "name": "sales"}, by="ben")

    assert told(mesh, "ann") == [("access", "orders.port", "requested"), ("change_request", "orders", "requested")]
    assert mesh.call("ann", "POST", f"/change-requests/{change}/reject").status_code == 200
    assert told(mesh, "ben") == [("change_request", "orders", "rejected")]


def test_a_failed_run_notifies_each_viewer_until_they_dismiss_it(make: Make, tmp_path: Path) -> None:
    acme = make()
    acme.create("/databases", {"name": "raw"})
    acme.create("/connections", {"name": "files", "folder": str(tmp_path)})
    for name in ("vic", "eve"):
        acme.add(name)
    acme.give("vic", "viewer", "lake.raw")
    stream = {"name": "a", "file": "a.csv", "into": "lake.raw.a"}
    source = {"kind": "source", "name": "load", "connection": "files", "streams": [stream]}
    pipeline = ResourceId(acme.call("owner", "PUT", "/pipelines/load", source).json()["id"])
    run = RunId(f"run-of-{pipeline}")
    begin(acme.control, acme.opened.store, run, pipeline)
    end(acme.control, acme.opened.store, run, "failed", "the file is torn")

    assert told(acme, "vic") == [("run", "load", "failed")]
    assert told(acme, "eve") == []
    before = acme.control.snapshot.revision
    id = acme.call("vic", "GET", "/notifications").json()["items"][0]["id"]
    assert acme.call("eve", "POST", f"/notifications/{id}/dismiss").status_code == 404
    assert acme.call("vic", "POST", f"/notifications/{id}/dismiss").status_code == 200

    assert told(acme, "vic") == []
    assert told(acme, "owner") == [("run", "load", "failed")]
    assert acme.control.snapshot.revision == before


def test_a_onehouse_job_notifies_only_members_with_a_role_on_it(make: Make) -> None:
    acme = make("onehouse")
    acme.add("ann")
    acme.create("/resources", {"type": "project", "parent": "organization", "name": "one"})
    acme.create("/clusters", {"name": "big", "parent": "one"})
    job = {"type": "job", "parent": "one", "name": "nightly", "relations": {"cluster": [{"to": "big"}]}}
    id = acme.create("/resources", job)
    failed = RunRow(RunId(f"run-of-{id}"), ResourceId(id), "failed", "manual", None, 1.0, 1.0)
    acme.opened.store.put_run(RunUpdate(failed, None))
    acme.give("ann", "member", "one")
    assert told(acme, "ann") == []

    acme.give("ann", "viewer", "nightly")

    assert told(acme, "ann") == [("run", "nightly", "failed")]
    found = acme.call("ann", "GET", "/notifications").json()["items"][0]["id"]
    assert acme.call("ann", "POST", f"/notifications/{found}/dismiss").status_code == 200
    assert told(acme, "ann") == []


def test_a_refused_run_notifies_viewers_of_the_pipeline(make: Make) -> None:
    acme = make()
    pipeline = saved(acme)
    refused = RunRow(RunId(f"run-of-{pipeline}"), pipeline, "refused", "schedule", None, 1.0, 1.0)
    acme.opened.store.put_run(RunUpdate(refused, None))

    assert (told(acme, "vic"), told(acme, "eve")) == ([("run", "delays", "refused")], [])


def test_a_pipeline_that_waits_to_be_saved_again_notifies_its_viewers(make: Make) -> None:
    acme = make()
    pipeline = saved(acme)
    acme.add("boss", "owner")
    assert told(acme, "vic") == []

    acme.control.execute(RemovePrincipal(acme.control.snapshot.run_as[pipeline]), None)

    assert told(acme, "vic") == told(acme, "boss") == [("pipeline", "delays", "waiting")]
    assert told(acme, "eve") == []
    tables = {"inputs": ["lake.ran.a"], "into": "lake.ran.b"}
    definition = {"kind": "query", "name": "delays", "sql": "SELECT 1", **tables}
    assert acme.call("boss", "PUT", "/pipelines/delays", definition).status_code == 200
    assert told(acme, "vic") == []
