import httpx
import pytest

from headgate.control.authentication.settings import AttemptLimit
from headgate.control.organizations.commands import DEPLOYMENT
from tests.control.authentication.auth_services_harness import PASSWORD
from tests.endpoints.auth.auth_harness import World

WRONG = "a wrong password"


@pytest.fixture
def world() -> World:
    return World(tries_of_name=AttemptLimit(3, 60.0))


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["type"].removeprefix("urn:headgate:problem:")


class TestLoggingIn:
    def test_gives_a_session_that_is_good_in_the_organizations_one_belongs_to(
        self, world: World, http: httpx.Client
    ) -> None:
        body = world.login(http)

        assert body["principal"] == world.ann
        assert body["ends"] == world.now + world.settings.session
        assert http.get("/api/v1/me").json() == {"principal": world.ann, "token": None, "adds_users": True}
        assert http.get("/o/acme/api/v1/me").json()["principal"] == world.ann

    def test_is_told_apart_from_nothing_when_it_fails(self, world: World, http: httpx.Client) -> None:
        answers = [
            http.post("/api/v1/login", json={"login": name, "password": WRONG}) for name in ("ann", "nobody", "../etc")
        ]

        assert {(each.status_code, each.text) for each in answers} == {(401, answers[0].text)}
        assert problem(answers[0]) == (401, "login-failed")

    def test_is_refused_for_a_while_after_too_many_wrong_passwords(self, world: World, http: httpx.Client) -> None:
        for _ in range(3):
            http.post("/api/v1/login", json={"login": "ann", "password": WRONG})

        answer = http.post("/api/v1/login", json={"login": "ann", "password": PASSWORD})
        assert problem(answer) == (429, "too-often")
        assert answer.headers["retry-after"] == "60"

    def test_leaves_its_failures_in_the_audit_of_the_deployment_without_what_was_typed(
        self, world: World, http: httpx.Client
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
    def test_takes_its_own_form_only(self, http: httpx.Client, body: object) -> None:
        assert problem(http.post("/api/v1/login", json=body)) == (422, "invalid")

    def test_is_not_for_other_sites_pages(self, world: World, http: httpx.Client) -> None:
        """Or they log somebody in as somebody else, whose data the next upload then is."""
        body = {"login": "ann", "password": PASSWORD, "cookie": True}

        for origin in ("https://evil.example", "null", f"{world.url}.evil.example"):
            assert problem(http.post("/api/v1/login", json=body, headers={"origin": origin})) == (403, "csrf")
        assert http.post("/api/v1/login", json=body, headers={"origin": world.url}).status_code == 201


class TestACookie:
    def test_holds_the_session_where_no_script_and_no_other_site_reaches_it(
        self, world: World, http: httpx.Client
    ) -> None:
        answer = http.post("/api/v1/login", json={"login": "ann", "password": PASSWORD, "cookie": True})

        kept = answer.headers["set-cookie"].lower()
        assert "session" not in answer.json() or answer.json()["session"] is None
        assert all(each in kept for each in ("headgate=hgs.", "httponly", "samesite=lax", "path=/"))
        assert http.get("/api/v1/sessions").status_code == 200

    def test_changes_something_only_with_the_token_of_the_session(self, world: World, http: httpx.Client) -> None:
        world.login(http, cookie=True)
        token = http.headers.pop("x-csrf-token")

        for headers in ({}, {"x-csrf-token": "x"}, {"x-csrf-token": token, "origin": "https://evil.example"}):
            assert problem(http.post("/api/v1/logout", headers=headers)) == (403, "csrf")
        assert http.get("/api/v1/session").json()["csrf"] == token
        assert http.post("/api/v1/logout", headers={"x-csrf-token": token, "origin": world.url}).status_code == 204
        assert "headgate" not in http.cookies

    def test_is_kept_to_tls_where_there_is_tls(self, world: World, http: httpx.Client) -> None:
        told = {"x-forwarded-proto": "https"}
        body = {"login": "ann", "password": PASSWORD, "cookie": True}
        kept = http.post("/api/v1/login", json=body, headers=told).headers["set-cookie"]

        assert kept.startswith("__Host-headgate=hgs.")
        assert "; Secure" in kept

    def test_that_is_plain_is_no_session_under_tls(self, world: World, http: httpx.Client) -> None:
        """Whoever can set plain cookies for a host must not choose whose session its people have."""
        world.login(http, cookie=True)

        assert problem(http.get("/api/v1/session", headers={"x-forwarded-proto": "https"})) == (401, "unauthenticated")

    def test_counts_for_nothing_beside_a_bearer(self, world: World, http: httpx.Client) -> None:
        world.login(http, cookie=True)

        answer = http.get("/api/v1/session", headers={"authorization": "Bearer hgs.no.session"})
        assert problem(answer) == (401, "unauthenticated")


class TestOnesOwnSessions:
    def test_are_listed_without_secrets_and_ended_one_by_one(self, world: World, http: httpx.Client) -> None:
        first = world.login(http)
        second = world.login(http)

        listed = http.get("/api/v1/sessions")
        assert {(each["id"], each["current"]) for each in listed.json()} == {(first["id"], False), (second["id"], True)}
        assert second["session"].split(".")[2] not in listed.text
        assert http.delete(f"/api/v1/sessions/{first['id']}").status_code == 204
        old = {"authorization": f"Bearer {first['session']}"}
        assert problem(http.get("/api/v1/session", headers=old)) == (401, "unauthenticated")

    def test_are_nobody_elses(self, world: World, http: httpx.Client) -> None:
        world.member("ben")
        anns = world.login(http)
        world.login(http, "ben")

        there = http.delete(f"/api/v1/sessions/{anns['id']}")
        missing = http.delete("/api/v1/sessions/nowhere")
        assert problem(there) == problem(missing) == (404, "not-found")
        assert there.text == missing.text.replace("nowhere", anns["id"])
        assert len(http.get("/api/v1/sessions").json()) == 1

    def test_end_with_a_logout(self, world: World, http: httpx.Client) -> None:
        world.login(http)

        assert http.post("/api/v1/logout").status_code == 204
        assert problem(http.get("/api/v1/me")) == (401, "unauthenticated")

    def test_are_not_for_tokens(self, world: World, http: httpx.Client) -> None:
        known = {"authorization": f"Bearer {world.bot('t')}"}
        assert http.get("/api/v1/me", headers=known).status_code == 200
        assert problem(http.get("/api/v1/sessions", headers=known)) == (401, "session-needed")

    def test_other_ones_end_with_a_new_password(self, world: World, http: httpx.Client) -> None:
        before = world.login(http)
        world.login(http)

        new = {"old": PASSWORD, "new": "a password of my own"}
        wrong = http.post("/api/v1/password", json={**new, "old": WRONG})
        assert (*problem(wrong), wrong.json()["detail"]) == (401, "login-failed", "the old password is wrong")
        assert problem(http.post("/api/v1/password", json={**new, "new": "short"})) == (422, "invalid")
        assert http.post("/api/v1/password", json=new).status_code == 204
        assert http.get("/api/v1/session").status_code == 200
        old = {"authorization": f"Bearer {before['session']}"}
        assert http.get("/api/v1/session", headers=old).status_code == 401
