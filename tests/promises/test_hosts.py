"""No answer of any route repeats a host that the client invented: absolute URLs begin with a configured address."""

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from headgate.app.http.application import http_application
from headgate.app.http.middleware import build_front
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from tests.app.deployment_harness import DeploymentHarness, NoSpark, world_in
from tests.app.routes import Route, routes
from tests.endpoints.http.asgi_client import asks

EVIL = "evil.example"
PUBLIC = "https://headgate.example"
FORGED = [
    {"host": EVIL},
    {"host": f"{EVIL}:8020"},
    {"host": "127.0.0.1", "x-forwarded-host": EVIL},
    {"host": "127.0.0.1", "forwarded": f"host={EVIL}"},
    {"host": "127.0.0.1", "x-original-host": EVIL},
]
ABSOLUTE = ["/.well-known/oauth-authorization-server", "/.well-known/authzen-configuration"]
ELSEWHERE = ["/.well-known/authzen-configuration/o/other", "/api/v1/users/", "/iceberg/v1/config/", "/oauth2/device/"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("hosts")) as opened:
        yield opened


@pytest.fixture(scope="module")
def published(world: DeploymentHarness) -> FastAPI:
    """The same endpoints with a public URL in the settings."""
    deployment = world.deployment
    logins = replace(deployment.settings.logins, address=f"{PUBLIC}/")
    known = replace(deployment, settings=replace(deployment.settings, logins=logins))
    return http_application(
        known, FreshnessBarrier(known.organizations), world.sparks, NoSpark(), NoSpark(), lambda: {"api": "ok"}
    )


def every_request(world: DeploymentHarness) -> Iterator[tuple[str, str]]:
    """Yield a request to every route of the deployment, with and without a slash at the end."""
    document = world.http.get("/api/openapi.json").json()
    found: list[Route] = routes(document)
    assert len(found) > 100
    for path in (*ABSOLUTE, *ELSEWHERE):
        yield "GET", path
    for each in found:
        yield each.method, each.filled("x")
        yield each.method, f"{each.filled('x')}/"


def headers_of(world: DeploymentHarness, forged: dict[str, str]) -> dict[str, str]:
    """Return the owner's request headers with forged hosts."""
    return {"authorization": f"Bearer {world.tokens['owner']}", **forged}


class TestWithoutAPublicUrl:
    def test_every_route_refuses_a_foreign_host_without_a_public_url(self, world: DeploymentHarness) -> None:
        for method, path in every_request(world):
            for forged in FORGED[:2]:
                answer = world.http.request(method, path, headers=headers_of(world, forged))
                assert (answer.status_code, answer.json()["title"]) == (421, "unknown host"), (method, path)

    def test_no_header_but_host_names_the_host(self, world: DeploymentHarness) -> None:
        for method, path in every_request(world):
            for forged in FORGED[2:]:
                answer = world.http.request(
                    method, path, headers=headers_of(world, forged), params={"dry_run": True}, follow_redirects=False
                )
                assert EVIL not in answer.text + str(answer.headers), (method, path, forged)

    @pytest.mark.parametrize("path", ABSOLUTE)
    def test_an_absolute_url_names_loopback_without_a_public_url(self, world: DeploymentHarness, path: str) -> None:
        assert str(world.http.base_url).rstrip("/") in world.http.get(path).text

    def test_a_probe_may_name_any_host(self, world: DeploymentHarness) -> None:
        here = asks(build_front(world.app, world.deployment).app)

        assert here("GET", "/healthz", headers={"host": EVIL}).status_code == 200
        assert here("GET", "/api/v1/me", headers={"host": EVIL}).status_code == 421

    def test_a_request_that_is_answered_at_once_is_refused_with_a_foreign_host_too(
        self, world: DeploymentHarness
    ) -> None:
        express = build_front(world.app, world.deployment).express
        body = b'{"action": {"name": "read"}}'
        head = [(b"host", EVIL.encode()), (b"content-length", b"%d" % len(body))]
        secret = (b"authorization", f"Bearer {world.tokens['owner']}".encode())

        assert express.answer(b"/access/v1/search/action", [*head, secret], body, len(body), (), "http") is None
        assert express._accepts(b"127.0.0.1")
        assert not express._accepts(EVIL.encode())


class TestAPublicUrl:
    def test_no_answer_repeats_a_foreign_host_with_a_public_url(
        self, world: DeploymentHarness, published: FastAPI
    ) -> None:
        here = asks(published, base=f"http://{EVIL}")
        for method, path in every_request(world):
            if method in ("GET", "POST"):
                answer = here(method, path, headers={"authorization": f"Bearer {world.tokens['owner']}"})
                assert EVIL not in answer.text + str(answer.headers), (method, path)
                assert answer.status_code != 421

    @pytest.mark.parametrize("path", ABSOLUTE)
    def test_every_absolute_url_begins_with_the_public_url(self, published: FastAPI, path: str) -> None:
        answer = asks(published, base=f"http://{EVIL}")("GET", path).json()

        urls = [each for each in answer.values() if isinstance(each, str)]
        assert urls
        assert all(each.startswith(PUBLIC) for each in urls)

    def test_a_device_sends_its_user_to_the_public_url(self, published: FastAPI) -> None:
        answer = asks(published, base=f"http://{EVIL}")("POST", "/oauth2/device_authorization", data={"client_id": "d"})

        assert answer.json()["verification_uri"] == f"{PUBLIC}/oauth2/device"

    def test_a_redirect_leads_to_the_public_url(self, published: FastAPI) -> None:
        answer = asks(published, base=f"http://{EVIL}")("GET", "/api/v1/users/")

        location = httpx.URL(answer.headers["location"])
        assert (answer.status_code, location.scheme, location.host) == (307, "https", "headgate.example")
