"""Malformed requests: each gets an answer, and none causes a server error."""

from collections.abc import Iterator

import pytest

from tests.app.deployment_harness import DeploymentHarness, world_in

HALF = '"\\ud800"'
"""Half of a surrogate pair, which JSON can spell."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("odd")) as opened:
        opened.add("vic")
        yield opened


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/questions", f'{{"action": {HALF}, "resource": "lake"}}'),
        ("POST", "/questions", f'{{"action": "a", "resource": {HALF}}}'),
        ("POST", "/questions", f'{{"action": "a", "resource": "lake", "subject": {HALF}}}'),
        ("POST", "/assignments", f'{{"subject": {HALF}, "role": "viewer", "resource": "lake.raw"}}'),
        ("POST", "/assignments", f'{{"subject": "vic", "role": {HALF}, "resource": "lake.raw"}}'),
        ("POST", "/assignments", f'{{"subject": "vic", "role": "viewer", "resource": {HALF}}}'),
        ("POST", "/databases", f'{{"name": {HALF}}}'),
        ("POST", "/connections", f'{{"name": {HALF}, "folder": "/"}}'),
        ("POST", "/connections", f'{{"name": "a", "folder": "/{HALF[1:]}}}'),
        ("POST", "/users", f'{{"name": "a", "role": {HALF}}}'),
        ("POST", "/users", f'{{"name": {HALF}}}'),
        ("POST", "/tokens", f'{{"principal": {HALF}}}'),
        ("POST", "/tokens", f'{{"label": {HALF}}}'),
        ("PUT", "/pipelines/a", f'{{"kind": "query", {HALF}: 1}}'),
        ("PUT", "/pipelines/a", f'{{"kind": {HALF}}}'),
        ("POST", "/sql", f'{{"statement": {HALF}}}'),
        ("GET", "/audit?after=99999999999999999999", ""),
        ("POST", "/connections", '{"name": "a", "folder": "/a\\u0000b"}'),
    ],
)
@pytest.mark.parametrize("who", ["owner", "vic"])
def test_a_malformed_request_to_the_api_is_refused(
    world: DeploymentHarness, who: str, method: str, path: str, body: str
) -> None:
    headers = {"authorization": f"Bearer {world.tokens[who]}", "content-type": "application/json"}

    answer = world.http.request(method, f"/api/v1{path}", content=body, headers=headers)

    assert 400 <= answer.status_code < 500


@pytest.mark.parametrize("path", ["/iceberg/v1/config", "/guard/v1/decide"])
def test_a_signature_with_an_impossible_time_is_refused(world: DeploymentHarness, path: str) -> None:
    headers = {"x-headgate-signature": "x", "x-headgate-time": "9" * 5000}

    answer = world.http.request("POST" if "guard" in path else "GET", path, headers=headers)

    assert answer.status_code == 401


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_a_table_by_a_path_that_is_spelled_otherwise_is_missing(world: DeploymentHarness, method: str) -> None:
    headers = {"authorization": f"Bearer {world.tokens['vic']}"}

    answer = world.http.request(
        method, "/iceberg/v1/namespace%73/raw/tables/t", content=b'{"updates": []}', headers=headers
    )

    assert answer.status_code == 404
