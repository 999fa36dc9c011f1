import httpx
import pytest

from headgate.control.authentication.settings import AttemptLimit
from headgate.control.organizations.commands import DEPLOYMENT
from tests.control.authentication.auth_services_harness import PASSWORD
from tests.endpoints.auth.auth_harness import AuthHarness

WRONG = "a wrong password"


@pytest.fixture
def world() -> AuthHarness:
    return AuthHarness(tries_of_name=AttemptLimit(3, 60.0))


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["type"].removeprefix("urn:headgate:problem:")


class TestLoggingIn:
    def test_a_login_returns_a_session_for_the_organizations_of_the_user(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        body = world.login(http)

        assert body["principal"] == world.ann
        assert body["ends"] == world.now + world.settings.session
        assert http.get("/api/v1/me").json() == {"principal": world.ann, "token": None, "adds_users": True}
        assert http.get("/o/acme/api/v1/me").json()["principal"] == world.ann

    def test_a_failed_login_is_answered_alike_for_known_and_unknown_names(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        answers = [
            http.post("/api/v1/login", json={"login": name, "password": WRONG}) for name in ("ann", "nobody", "../etc")
        ]

        assert {(each.status_code, each.text) for each in answers} == {(401, answers[0].text)}
        assert problem(answers[0]) == (401, "login-failed")

    def test_a_login_after_too_many_wrong_passwords_is_refused_for_a_while(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        for _ in range(3):
            http.post("/api/v1/login", json={"login": "ann", "password": WRONG})

        answer = http.post("/api/v1/login", json={"login": "ann", "password": PASSWORD})
        assert problem(answer) == (429, "too-often")
        assert answer.headers["retry-after"] == "60"

    def test_a_failed_login_is_audited_without_the_typed_login_name_and_password(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        http.post("/api/v1/login", json={"login": PASSWORD, "password": WRONG})

        world.audit.close()
        ((root, record),) = world.stores.records
        assert (root, record.action, record.allowed) == (DEPLOYMENT, "POST /api/v1/login", False)
        assert PASSWORD not in repr(record)

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"login": "ann", "password": "x", "principal": "eve"},
            {"login": "ann"},
            {"login": "", "password": ""},
            [],
            "ann",
            {"login": 1},
        ],
    )
    def test_a_login_with_a_malformed_body_is_invalid(self, http: httpx.Client, body: object) -> None:
        assert problem(http.post("/api/v1/login", json=body)) == (422, "invalid")

    def test_a_login_from_another_origin_is_refused(self, world: AuthHarness, http: httpx.Client) -> None:
        """Otherwise another site logs a user in as the attacker, and the attacker receives the user's next upload."""
        body = {"login": "ann", "password": PASSWORD, "cookie": True}

        for origin in ("https://evil.example", "null", f"{world.url}.evil.example"):
            assert problem(http.post("/api/v1/login", json=body, headers={"origin": origin})) == (403, "csrf")
        assert http.post("/api/v1/login", json=body, headers={"origin": world.url}).status_code == 201


class TestACookie:
    def test_a_session_cookie_is_http_only_and_same_site(self, world: AuthHarness, http: httpx.Client) -> None:
        answer = http.post("/api/v1/login", json={"login": "ann", "password": PASSWORD, "cookie": True})

        kept = answer.headers["set-cookie"].lower()
        assert "session" not in answer.json() or answer.json()["session"] is None
        assert all(each in kept for each in ("headgate=hgs.", "httponly", "samesite=lax", "path=/"))
        assert http.get("/api/v1/sessions").status_code == 200

    def test_a_write_with_a_cookie_needs_the_csrf_token_and_the_own_origin(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        world.login(http, cookie=True)
        token = http.headers.pop("x-csrf-token")

        for headers, words in (
            ({}, "`X-CSRF-Token` is missing"),
            ({"x-csrf-token": "x"}, "`X-CSRF-Token` is not the CSRF token of the session"),
            ({"x-csrf-token": token, "origin": "https://evil.example"}, "the `Origin` header names another site"),
        ):
            answer = http.post("/api/v1/logout", headers=headers)
            assert problem(answer) == (403, "csrf")
            assert words in answer.json()["detail"]
        assert http.get("/api/v1/session").json()["csrf"] == token
        assert http.post("/api/v1/logout", headers={"x-csrf-token": token, "origin": world.url}).status_code == 204
        assert "headgate" not in http.cookies

    def test_a_cookie_set_under_tls_is_secure_and_bound_to_its_host(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        told = {"x-forwarded-proto": "https"}
        body = {"login": "ann", "password": PASSWORD, "cookie": True}
        kept = http.post("/api/v1/login", json=body, headers=told).headers["set-cookie"]

        assert kept.startswith("__Host-headgate=hgs.")
        assert "; Secure" in kept

    def test_a_cookie_set_without_tls_is_no_session_under_tls(self, world: AuthHarness, http: httpx.Client) -> None:
        """An attacker who can set cookies over plain HTTP must not choose the session of a host's users."""
        world.login(http, cookie=True)

        assert problem(http.get("/api/v1/session", headers={"x-forwarded-proto": "https"})) == (401, "unauthenticated")

    def test_a_cookie_is_ignored_when_a_bearer_token_is_sent(self, world: AuthHarness, http: httpx.Client) -> None:
        world.login(http, cookie=True)

        answer = http.get("/api/v1/session", headers={"authorization": "Bearer hgs.no.session"})
        assert problem(answer) == (401, "unauthenticated")


class TestOnesOwnSessions:
    def test_a_user_lists_their_sessions_without_secrets_and_ends_one(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        first = world.login(http)
        second = world.login(http)

        listed = http.get("/api/v1/sessions")
        assert {(each["id"], each["current"]) for each in listed.json()} == {(first["id"], False), (second["id"], True)}
        assert second["session"].split(".")[2] not in listed.text
        assert http.delete(f"/api/v1/sessions/{first['id']}").status_code == 204
        old = {"authorization": f"Bearer {first['session']}"}
        assert problem(http.get("/api/v1/session", headers=old)) == (401, "unauthenticated")

    def test_a_session_of_another_user_is_answered_like_a_missing_one(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        world.member("ben")
        anns = world.login(http)
        world.login(http, "ben")

        there = http.delete(f"/api/v1/sessions/{anns['id']}")
        missing = http.delete("/api/v1/sessions/nowhere")
        assert problem(there) == problem(missing) == (404, "not-found")
        assert there.text == missing.text.replace("nowhere", anns["id"])
        assert len(http.get("/api/v1/sessions").json()) == 1

    def test_a_logout_ends_the_session(self, world: AuthHarness, http: httpx.Client) -> None:
        world.login(http)

        assert http.post("/api/v1/logout").status_code == 204
        assert problem(http.get("/api/v1/me")) == (401, "unauthenticated")

    def test_a_token_cannot_list_sessions(self, world: AuthHarness, http: httpx.Client) -> None:
        known = {"authorization": f"Bearer {world.bot('t')}"}
        assert http.get("/api/v1/me", headers=known).status_code == 200
        assert problem(http.get("/api/v1/sessions", headers=known)) == (401, "session-needed")

    def test_a_password_change_ends_the_other_sessions_of_the_user(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        before = world.login(http)
        world.login(http)

        new = {"old": PASSWORD, "new": "a password of my own"}
        wrong = http.post("/api/v1/password", json={**new, "old": WRONG})
        assert (*problem(wrong), wrong.json()["detail"]) == (
            401,
            "login-failed",
            "the old password is wrong; correct it and retry",
        )
        assert problem(http.post("/api/v1/password", json={**new, "new": "short"})) == (422, "invalid")
        assert http.post("/api/v1/password", json=new).status_code == 204
        assert http.get("/api/v1/session").status_code == 200
        old = {"authorization": f"Bearer {before['session']}"}
        assert http.get("/api/v1/session", headers=old).status_code == 401
