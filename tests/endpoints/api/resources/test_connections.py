"""Connections over HTTP: no answer contains a secret that was stored."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from headgate.control.connections.commands import SECRET
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient
from tests.endpoints.conftest import Make

PASSWORD, TOKEN = "correct horse battery", "Bearer staple"
SHOP: dict[str, Any] = {"host": "db.example.org", "database": "shop", "user": "headgate", "password": PASSWORD}
API: dict[str, Any] = {"base_url": "https://api.example.org/v1", "headers": {"Authorization": TOKEN}}


@pytest.fixture(scope="module")
def acme(make: Make) -> OrganizationClient:
    place = make()
    place.call("owner", "POST", "/connections", {"name": "shop", "postgresql": SHOP}).raise_for_status()
    place.call("owner", "POST", "/connections", {"name": "api", "http": API}).raise_for_status()
    place.add("ed")
    place.add("eve")
    place.give("ed", "connection_user", "shop")
    return place


def opened(world: DeploymentHarness, place: OrganizationClient, name: str) -> Any:
    id = place.call("owner", "GET", f"/connections/{name}").json()["id"]
    return world.deployment.vault.decrypt(id, place.opened.store.document(SECRET, id) or {})


def test_connections_are_shown_without_secrets_to_callers_that_may_use_them(acme: OrganizationClient) -> None:
    shop = acme.call("ed", "GET", "/connections/shop").json()

    assert {key: shop[key] for key in ("name", "kind", "host", "port", "database", "user", "sslmode")} == {
        "name": "shop", "kind": "postgresql", "host": "db.example.org", "port": 5432, "database": "shop", "user": "headgate",
        "sslmode": "prefer",
    }  # fmt: skip
    assert acme.call("owner", "GET", "/connections/api").json()["base_url"] == API["base_url"]
    assert acme.call("eve", "GET", "/connections/shop").status_code == 404
    assert acme.call("ed", "GET", "/connections/api").status_code == 404


def test_connection_secrets_appear_in_no_answer_and_no_file(world: DeploymentHarness, acme: OrganizationClient) -> None:
    said = [
        acme.call("owner", "GET", path).text
        for path in ("/connections", "/connections/shop", "/connections/api", "/audit")
    ]
    folder = world.deployment.settings.folder
    kept = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())

    for secret in (PASSWORD, TOKEN):
        assert secret not in json.dumps(said)
        assert secret.encode() not in kept
    assert opened(world, acme, "shop") == {"password": PASSWORD}
    assert opened(world, acme, "api") == {"Authorization": TOKEN}


def test_changing_a_connection_secret_needs_a_privilege(world: DeploymentHarness, acme: OrganizationClient) -> None:
    changed = {"password": "another one"}
    assert acme.call("ed", "PUT", "/connections/shop/secret", changed).status_code == 403
    assert acme.call("eve", "PUT", "/connections/shop/secret", changed).status_code == 404
    assert opened(world, acme, "shop") == {"password": PASSWORD}

    assert acme.call("owner", "PUT", "/connections/shop/secret", changed).status_code == 200
    assert opened(world, acme, "shop") == changed
    acme.call("owner", "PUT", "/connections/shop/secret", {"password": PASSWORD}).raise_for_status()


def test_the_server_looks_up_a_host_name_only_for_a_caller_with_the_privilege(
    acme: OrganizationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up, look_up = list[str](), socket.getaddrinfo

    def record(host: str, *more: Any, **named: Any) -> Any:
        looked_up.append(host)
        return look_up("127.0.0.1" if host == "named.example.org" else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", record)
    body = {"name": "named", "http": {"base_url": "https://named.example.org"}}

    assert acme.call("eve", "POST", "/connections", body).status_code == 403
    assert "named.example.org" not in looked_up
    acme.call("owner", "POST", "/connections", body, dry_run=True).raise_for_status()
    assert "named.example.org" in looked_up


@pytest.mark.parametrize("body", [{}, {"headers": {}}, {"password": "a\0"}, {"password": "a", "more": 1}], ids=str)
def test_a_secret_that_does_not_match_its_connection_kind_is_refused(
    acme: OrganizationClient, body: dict[str, Any]
) -> None:
    assert acme.call("owner", "PUT", "/connections/shop/secret", body).status_code in (400, 422)


@pytest.mark.parametrize(
    "body",
    [{}, {"folder": "/data", "postgresql": SHOP}, {"postgresql": {**SHOP, "url": "jdbc:x"}}, {"postgresql": {**SHOP, "host": "a?b"}},
     {"postgresql": {**SHOP, "sslmode": "x"}}, {"http": {**API, "base_url": "ftp://x"}}, {"http": {**API, "headers": {"Host": "x"}}}],
    ids=str,
)  # fmt: skip
def test_a_connection_with_an_invalid_target_is_refused(acme: OrganizationClient, body: dict[str, Any]) -> None:
    answer = acme.call("owner", "POST", "/connections", {"name": "odd", **body})

    assert answer.status_code in (400, 422)
    assert PASSWORD not in answer.text
    assert acme.call("owner", "GET", "/connections/odd").status_code == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [({}, "the connection has no target"), ({"folder": "/data", "http": API}, "the connection has several targets")],
)
def test_the_fault_of_a_connection_says_whether_it_has_no_or_several_targets(
    acme: OrganizationClient, body: dict[str, Any], words: str
) -> None:
    (fault,) = acme.call("owner", "POST", "/connections", {"name": "odd", **body}).json()["faults"]

    assert words in fault["fault"]


def test_a_secret_is_deleted_with_its_connection(acme: OrganizationClient) -> None:
    id = acme.call("owner", "POST", "/connections", {"name": "gone", "postgresql": SHOP}).json()["id"]
    acme.call("owner", "DELETE", "/connections/gone").raise_for_status()

    assert acme.opened.store.document(SECRET, id) is None
    assert acme.opened.store.document("connection", id) is None


@pytest.mark.parametrize("model", ["y42", "onehouse"])
def test_every_model_with_pipelines_lists_connections(make: Make, tmp_path: Path, model: str) -> None:
    place = make(model)
    place.call("owner", "POST", "/connections", {"name": "files", "folder": str(tmp_path)})
    assert place.call("owner", "GET", "/connections").status_code == 200
