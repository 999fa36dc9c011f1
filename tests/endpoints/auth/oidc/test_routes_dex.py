"""A login at a real provider that other people implemented."""

import time
from urllib.parse import urlsplit

import httpx

from headgate.control.authentication.settings import Provider
from headgate.facts.ids import PrincipalId
from tests.endpoints.auth.auth_harness import AuthHarness, Front
from tests.endpoints.auth.dex_process import CLIENT, EMAIL, SECRET, back_from, dex, running


def test_a_user_logs_in_at_dex_before_and_after_its_keys_change(front: Front) -> None:
    program, callback = dex(), f"{front.url}/oidc/callback"
    with running(program, callback) as issuer:
        world = AuthHarness(provider=Provider(issuer, CLIENT, SECRET, join=frozenset({"acme.com"}), refetch=0.0))
        world.now = time.time()
        first = _logged_in(front, world)
    # Dex has its keys in memory, so that a new process has new ones.
    with running(program, callback, urlsplit(issuer).port or 0):
        assert _logged_in(front, world) == first

    user = world.auth_services.authentication.user(first)
    assert user is not None
    assert user.email == EMAIL


def _logged_in(front: Front, world: AuthHarness) -> PrincipalId:
    with front.serving(world) as http, httpx.Client(trust_env=False, timeout=30) as browser:
        sent = http.get("/oidc/login").headers["location"]
        answer = http.get(back_from(browser, sent, str(http.base_url)))
        assert answer.status_code == 303, answer.text
        return PrincipalId(http.get("/api/v1/session").json()["principal"])
