"""Pipelines over HTTP: definitions, streams, states, clusters and runs."""

from pathlib import Path
from typing import Any

import pytest

from headgate.facts.ids import ResourceId
from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make


def stream(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "file": f"{name}.csv", "into": f"lake.raw.{name}", **more}


def source(*streams: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "source", "name": "load", "connection": "files", "streams": [*streams]}


@pytest.fixture
def acme(make: Make, tmp_path: Path) -> OrganizationClient:
    """An organization of `nekt` with `raw`, which ed may edit, `secret`, and a source that the owner saved."""
    place = make()
    for name in ("raw", "secret"):
        assert place.call("owner", "POST", "/databases", {"name": name}).status_code == 201
    assert place.call("owner", "POST", "/connections", {"name": "files", "folder": str(tmp_path)}).status_code == 201
    for name in ("vic", "ed"):
        place.add(name)
    place.give("ed", "editor", "lake.raw")
    place.give("vic", "viewer", "lake.raw")
    assert place.call("owner", "PUT", "/pipelines/load", source(stream("a"))).status_code == 200
    return place


def shown(place: OrganizationClient, who: str = "ed") -> dict[str, Any]:
    answer = place.call(who, "GET", "/pipelines/load")
    assert answer.status_code == 200, answer.text
    return answer.json()


def edges(place: OrganizationClient) -> dict[str, bool]:
    """Return the output layers of the source, each with whether it is enabled."""
    found = place.control.snapshot.resources[ResourceId(shown(place)["id"])]
    return {edge.name: edge.enabled for edge in found.relations["output_layers"]}


class TestDefinitions:
    def test_a_definition_is_shown_with_the_user_that_its_runs_act_as(self, acme: OrganizationClient) -> None:
        found = shown(acme, "owner")

        assert (found["kind"], found["run_as"], found["state"]) == ("source", "owner", "active")
        assert found["definition"]["streams"][0]["file"] == "a.csv"
        assert [each["name"] for each in acme.call("vic", "GET", "/pipelines", kind="source").json()["items"]] == [
            "load"
        ]
        assert acme.call("vic", "GET", "/pipelines", kind="query").json()["items"] == []

    def test_a_definition_saved_with_an_outdated_version_is_refused(self, acme: OrganizationClient) -> None:
        etag = {"if-match": acme.call("owner", "GET", "/pipelines/load").headers["etag"]}
        changed = source(stream("a"), stream("b"))

        answers = [acme.send("owner", "PUT", "/pipelines/load", changed, etag).status_code for _ in range(2)]

        assert answers == [200, 412]

    def test_a_dry_run_of_saving_a_definition_writes_nothing(self, acme: OrganizationClient) -> None:
        answer = acme.call("owner", "PUT", "/pipelines/load", source(stream("b")), dry_run=True)

        assert answer.json()["dry_run"]
        assert shown(acme)["definition"]["streams"][0]["name"] == "a"

    def test_a_schedule_that_makes_a_pipeline_follow_itself_is_refused(self, acme: OrganizationClient) -> None:
        more = {**source(stream("b")), "name": "more"}
        assert acme.call("owner", "PUT", "/pipelines/more", {**more, "schedule": {"after": "load"}}).status_code == 200

        circle = acme.call("owner", "PUT", "/pipelines/load", {**source(stream("a")), "schedule": {"after": "more"}})
        itself = acme.call("owner", "PUT", "/pipelines/more", {**more, "schedule": {"after": "more"}})

        assert [each.status_code for each in (circle, itself)] == [422, 422]
        assert "`load` would run after itself" in circle.json()["detail"]
        assert "`schedule.after` of `more` names `more` itself" in itself.json()["detail"]
        assert shown(acme, "owner")["definition"]["schedule"] is None


class TestStreams:
    def test_adding_a_stream_requires_edit_and_use_of_the_connection(self, acme: OrganizationClient) -> None:
        assert acme.call("vic", "POST", "/pipelines/load/streams", stream("b")).status_code == 403
        assert acme.call("ed", "POST", "/pipelines/load/streams", stream("b")).status_code == 404
        acme.give("ed", "connection_user", "files")
        assert acme.call("ed", "POST", "/pipelines/load/streams", stream("b")).status_code == 201
        assert acme.call("ed", "POST", "/pipelines/load/streams", stream("b")).status_code == 409
        hidden = stream("c", into="lake.secret.c")
        assert acme.call("ed", "POST", "/pipelines/load/streams", hidden).status_code == 404

        assert [each["name"] for each in shown(acme)["definition"]["streams"]] == ["a", "b"]
        assert shown(acme, "ed")["run_as"] == "ed"

    def test_a_stream_can_be_disabled_and_enabled_again(self, acme: OrganizationClient) -> None:
        path = "/pipelines/load/streams/a"
        assert acme.call("vic", "POST", f"{path}/disable").status_code == 403
        assert acme.call("ed", "POST", f"{path}/disable").status_code == 200
        assert edges(acme) == {"a": False}
        assert shown(acme, "owner")["run_as"] == "owner"

        assert acme.call("ed", "POST", f"{path}/enable").status_code == 404
        acme.give("ed", "connection_user", "files")
        assert acme.call("ed", "POST", f"{path}/enable").status_code == 200
        assert edges(acme) == {"a": True}
        assert shown(acme)["definition"]["streams"][0]["enabled"]
        assert shown(acme, "owner")["run_as"] == "ed"

    def test_a_stream_is_disabled_together_with_its_quarantine_table(self, acme: OrganizationClient) -> None:
        apart = stream("b", bad_rows="quarantine")
        assert acme.call("owner", "POST", "/pipelines/load/streams", apart).status_code == 201
        assert edges(acme) == {"a": True, "b": True, "b_quarantine": True}

        assert acme.call("owner", "POST", "/pipelines/load/streams/b/disable").status_code == 200
        assert edges(acme) == {"a": True, "b": False, "b_quarantine": False}

    def test_a_table_can_be_the_target_of_one_stream_only(self, acme: OrganizationClient) -> None:
        for into in ("lake.raw.a", "lake.raw.x"):
            other = stream("b", into=into, bad_rows="quarantine")
            expected = 409 if into == "lake.raw.a" else 201
            assert acme.call("owner", "POST", "/pipelines/load/streams", other).status_code == expected
        taken = stream("c", into="lake.raw.x_quarantine")
        assert acme.call("owner", "POST", "/pipelines/load/streams", taken).status_code == 409

    def test_a_stream_beyond_the_limit_of_a_definition_is_refused(
        self, acme: OrganizationClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headgate.endpoints.api.pipelines.pipelines.MAX_ENTRIES", 1)
        refused = acme.call("owner", "POST", "/pipelines/load/streams", stream("b"))

        assert refused.status_code == 422
        assert "has the maximum of 1 streams" in refused.json()["detail"]

    def test_an_unknown_stream_is_missing(self, acme: OrganizationClient) -> None:
        assert acme.call("ed", "POST", "/pipelines/load/streams/nosuch/enable").status_code == 404
        assert acme.call("ed", "POST", "/pipelines/lake/streams/a/enable").status_code == 422


class TestStates:
    def test_deactivating_a_pipeline_requires_edit(self, acme: OrganizationClient) -> None:
        assert acme.call("vic", "POST", "/pipelines/load/deactivate").status_code == 403
        assert acme.call("ed", "POST", "/pipelines/load/deactivate").status_code == 200
        assert shown(acme)["state"] == "inactive"
        assert acme.call("ed", "POST", "/pipelines/load/pause").status_code == 403
        assert acme.call("ed", "POST", "/pipelines/load/explode").status_code == 404

    def test_a_onehouse_job_can_be_moved_to_another_cluster(self, make: Make) -> None:
        place = make("onehouse")
        place.call("owner", "POST", "/resources", {"type": "project", "parent": "organization", "name": "one"})
        for name in ("big", "small"):
            assert place.call("owner", "POST", "/clusters", {"name": name, "parent": "one"}).status_code == 201
        job = {"type": "job", "parent": "one", "name": "nightly", "relations": {"cluster": [{"to": "big"}]}}
        assert place.call("owner", "POST", "/resources", job).status_code == 201

        moved = place.call("owner", "POST", "/resources/nightly/move-to-cluster", {"cluster": "small"})

        assert moved.status_code == 200, moved.text
        found = place.call("owner", "GET", "/resources/nightly").json()["relations"]["cluster"]
        assert [each["name"] for each in found] == ["small"]


class TestClusters:
    """Runs execute on a cluster that operators have configured."""

    def test_a_configured_cluster_is_used_under_a_model_without_clusters(self, acme: OrganizationClient) -> None:
        definition = {**source(stream("a")), "cluster": "embedded"}

        assert acme.call("owner", "PUT", "/pipelines/load", definition).status_code == 200
        unknown = acme.call("owner", "PUT", "/pipelines/load", {**definition, "cluster": "nosuch"})

        assert (unknown.status_code, unknown.json()["detail"]) == (
            422,
            "the operator has not configured a cluster `nosuch`; the configured clusters are `embedded`",
        )

    def test_a_cluster_resource_must_name_a_configured_cluster(self, make: Make) -> None:
        place = make("onehouse")
        assert place.call(
            "owner", "POST", "/resources", {"type": "project", "parent": "organization", "name": "one"}
        ).is_success

        def made(name: str, stands_for: str) -> int:
            body = {"name": name, "parent": "one", "attributes": {"configured": [stands_for]}}
            return int(place.call("owner", "POST", "/clusters", body).status_code)

        assert (made("big", "embedded"), made("small", "nosuch")) == (201, 422)
        changed = place.call("owner", "PATCH", "/resources/big", {"attributes": {"configured": ["nosuch"]}})
        assert changed.status_code == 422
