import base64
import re

import httpx
import pytest

from headgate.control.authentication.settings import AttemptLimit
from headgate.control.identity.principals import DeleteServicePrincipal
from headgate.control.identity.tokens import RevokeToken
from headgate.facts.ids import TokenId
from tests.control.authentication.auth_services_harness import PASSWORD
from tests.endpoints.auth.auth_harness import BOT, AuthHarness, Front

CREDENTIALS = {"grant_type": "client_credentials", "client_id": BOT}
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


@pytest.fixture
def world() -> AuthHarness:
    return AuthHarness(codes_of_address=AttemptLimit(5, 60.0), tries_of_code=AttemptLimit(3, 60.0))


def fault(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["cache-control"] == "no-store"
    return answer.status_code, answer.json()["error"]


def me(http: httpx.Client, secret: str) -> httpx.Response:
    return http.get("/api/v1/me", headers={"authorization": f"Bearer {secret}"})


class TestAServicePrincipal:
    def grant(self, http: httpx.Client, secret: str) -> str:
        answer = http.post("/oauth2/token", data={**CREDENTIALS, "client_secret": secret})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])

    def test_a_service_principal_exchanges_its_token_for_an_access_token_that_expires(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        access = self.grant(http, world.bot("t"))

        assert me(http, access).json()["principal"] == BOT
        world.now += world.settings.access_token
        assert me(http, access).status_code == 401
        world.auth_services.tidy()
        assert not world.acme.store.documents("access_token")

    def test_a_service_principal_may_authenticate_with_http_basic(self, world: AuthHarness, http: httpx.Client) -> None:
        form = {"grant_type": "client_credentials"}
        assert http.post("/oauth2/token", data=form, auth=(BOT, world.bot("t"))).status_code == 200

    def test_an_access_token_ends_when_the_token_behind_it_is_revoked(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        access = self.grant(http, world.bot("t", only=("table.select",)))

        assert me(http, access).json()["token"] == TokenId("t")
        world.acme.control.execute(RevokeToken(TokenId("t")), None)
        assert me(http, access).status_code == 401

    def test_an_access_token_of_a_deleted_service_principal_is_refused(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        access = self.grant(http, world.bot("t"))

        world.acme.control.execute(DeleteServicePrincipal(BOT), None)
        assert me(http, access).status_code == 401

    def test_an_access_token_cannot_be_exchanged_for_another(self, world: AuthHarness, http: httpx.Client) -> None:
        access = self.grant(http, world.bot("t"))

        answer = http.post("/oauth2/token", data={**CREDENTIALS, "client_secret": access})
        assert fault(answer) == (401, "invalid_client")

    def test_a_user_session_cannot_be_exchanged_as_client_credentials(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        session = world.login(http)["session"]
        del http.headers["authorization"]

        answer = http.post("/oauth2/token", data={**CREDENTIALS, "client_id": world.ann, "client_secret": session})
        assert fault(answer) == (401, "invalid_client")

    @pytest.mark.parametrize(
        ("form", "status", "word"),
        [
            ({"scope": "all"}, 400, "unsupported_grant_type"),
            ({"grant_type": "password", "username": "ann", "password": PASSWORD}, 400, "unsupported_grant_type"),
            (CREDENTIALS, 401, "invalid_client"),
            ({**CREDENTIALS, "client_secret": "hgt.t.wrong"}, 401, "invalid_client"),
            ({**CREDENTIALS, "client_secret": "hgt.t.s3cret", "client_id": "eve"}, 401, "invalid_client"),
            ({**CREDENTIALS, "client_secret": "hgt.\x00.s3cret"}, 401, "invalid_client"),
            ({"grant_type": DEVICE, "device_code": "hgd.no.code"}, 400, "expired_token"),
            ({"grant_type": DEVICE, "device_code": "hgd.\x00.code"}, 400, "expired_token"),
        ],
    )
    def test_a_refused_token_request_is_answered_with_an_oauth_error_code(
        self, world: AuthHarness, http: httpx.Client, form: dict[str, str], status: int, word: str
    ) -> None:
        world.bot("t")
        answer = http.post("/oauth2/token", data=form)

        assert fault(answer) == (status, word)
        assert ("www-authenticate" in answer.headers) == (status == 401)

    def test_a_token_request_that_is_malformed_or_repeats_itself_is_invalid(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        secret = world.bot("t")
        twice = http.post("/oauth2/token", data={**CREDENTIALS, "client_secret": secret}, auth=(BOT, secret))
        body = "grant_type=client_credentials&grant_type=client_credentials"
        form = {"content-type": "application/x-www-form-urlencoded"}
        doubled = http.post("/oauth2/token", content=body, headers=form)
        as_json = http.post("/oauth2/token", json=CREDENTIALS)
        odd = [http.post("/oauth2/token", content=each, headers=form) for each in (b"\xff=1", b"a=1&" * 100)]

        assert {fault(each) for each in (twice, doubled, as_json, *odd)} == {(400, "invalid_request")}
        assert "in HTTP Basic and in the form" in twice.json()["error_description"]
        bearer = http.post("/oauth2/token", data=CREDENTIALS, headers={"authorization": f"Bearer {secret}"})
        assert fault(bearer) == (400, "invalid_request")
        assert "is not HTTP Basic" in bearer.json()["error_description"]

    @pytest.mark.parametrize("value", ["!", base64.b64encode(b"\xff:x").decode(), "Ym90"])
    def test_a_malformed_http_basic_credential_is_refused(
        self, world: AuthHarness, http: httpx.Client, value: str
    ) -> None:
        form = {"grant_type": "client_credentials"}
        answer = http.post("/oauth2/token", data=form, headers={"authorization": f"Basic {value}"})
        assert fault(answer) == (401, "invalid_client")


class TestADevice:
    def ask(self, http: httpx.Client) -> dict[str, str]:
        answer = http.post("/oauth2/device_authorization", data={"client_id": "headgate-cli"})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def poll(self, http: httpx.Client, asked: dict[str, str]) -> httpx.Response:
        return http.post("/oauth2/token", data={"grant_type": DEVICE, "device_code": asked["device_code"]})

    def test_a_device_is_logged_in_once_a_user_allows_it(self, world: AuthHarness, http: httpx.Client) -> None:
        asked = self.ask(http)
        assert re.fullmatch(r"[B-Z]{4}-[B-Z]{4}", asked["user_code"])
        assert asked["verification_uri"] == f"{world.url}/oauth2/device"
        assert fault(self.poll(http, asked)) == (400, "authorization_pending")

        world.login(http)
        code = asked["user_code"].lower().replace("-", " ")
        assert http.post(f"/api/v1/devices/{code}", json={"allow": True}).status_code == 204
        secret = self.poll(http, asked).json()["access_token"]
        assert me(http, secret).json()["principal"] == world.ann
        assert fault(self.poll(http, asked)) == (400, "expired_token")
        (session,) = (each for each in http.get("/api/v1/sessions").json() if each["how"] == "device")
        assert session["agent"] == "headgate-cli"

    def test_a_device_is_denied_once_a_user_rejects_it(self, world: AuthHarness, http: httpx.Client) -> None:
        asked = self.ask(http)
        world.login(http)

        assert http.post(f"/api/v1/devices/{asked['user_code']}", json={"allow": False}).status_code == 204
        again = http.post(f"/api/v1/devices/{asked['user_code']}", json={"allow": True})
        assert again.status_code == 404
        assert fault(self.poll(http, asked)) == (400, "access_denied")

    def test_a_device_is_denied_when_the_user_has_logged_out_since(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        asked = self.ask(http)
        world.login(http)
        http.post(f"/api/v1/devices/{asked['user_code']}", json={"allow": True})
        http.post("/api/v1/logout")

        assert fault(self.poll(http, asked)) == (400, "access_denied")

    def test_a_device_code_expires(self, world: AuthHarness, http: httpx.Client) -> None:
        asked = self.ask(http)
        world.now += world.settings.device

        assert fault(self.poll(http, asked)) == (400, "expired_token")
        world.login(http)
        assert http.post(f"/api/v1/devices/{asked['user_code']}", json={"allow": True}).status_code == 404
        world.auth_services.tidy()
        assert not world.organizations.deployment.store.documents("device")

    def test_a_device_that_polls_too_fast_is_slowed_down(self, front: Front) -> None:
        world = AuthHarness(device_interval=5.0)
        with front.serving(world) as http:
            asked = self.ask(http)
            assert asked["interval"] == 5
            assert fault(self.poll(http, asked)) == (400, "authorization_pending")
            assert fault(self.poll(http, asked)) == (400, "slow_down")
            world.now += 5.0
            assert fault(self.poll(http, asked)) == (400, "authorization_pending")

    def test_a_user_that_guesses_user_codes_is_rate_limited(self, world: AuthHarness, http: httpx.Client) -> None:
        asked = self.ask(http)
        world.login(http)
        for _ in range(3):
            assert http.post("/api/v1/devices/BBBB-BBBB", json={"allow": True}).status_code == 404

        answer = http.post(f"/api/v1/devices/{asked['user_code']}", json={"allow": True})
        assert answer.status_code == 429

    def test_a_client_that_requests_too_many_device_codes_is_rate_limited(self, http: httpx.Client) -> None:
        for _ in range(5):
            self.ask(http)
        answer = http.post("/oauth2/device_authorization", data={})
        assert fault(answer) == (429, "slow_down")

    def test_a_device_cannot_be_allowed_without_a_session(self, http: httpx.Client) -> None:
        asked = self.ask(http)
        assert http.post(f"/api/v1/devices/{asked['user_code']}", json={"allow": True}).status_code == 401


class TestThePageForDevices:
    def test_the_device_page_logs_a_user_in_and_allows_the_device(self, world: AuthHarness, http: httpx.Client) -> None:
        asked = TestADevice().ask(http)
        assert 'name="password"' in http.get("/oauth2/device", params={"user_code": asked["user_code"]}).text

        form = {"login": "ann", "password": PASSWORD, "user_code": asked["user_code"]}
        sent = http.post("/oauth2/device", data=form)
        assert sent.status_code == 303
        page = http.get(sent.headers["location"]).text
        assert asked["user_code"] in page
        assert "You are logged in as ann" in page
        (token,) = re.findall(r'name="csrf" value="([^"]+)"', page)
        answer = {"user_code": asked["user_code"], "answer": "allow"}
        assert http.post("/oauth2/device", data=answer).status_code == 403
        assert "The device is approved" in http.post("/oauth2/device", data={**answer, "csrf": token}).text
        assert TestADevice().poll(http, asked).status_code == 200

    def test_the_device_page_refuses_forms_from_other_origins(self, http: httpx.Client) -> None:
        """Without the referrer policy the browser sends `Origin: null`, which pages of other sites can send too."""
        assert '<meta name="referrer" content="same-origin">' in http.get("/oauth2/device").text
        form = {"login": "ann", "password": PASSWORD}
        for origin in ("null", "http://[", "http://other"):
            assert http.post("/oauth2/device", data=form, headers={"origin": origin}).status_code == 403

    def test_the_device_page_explains_errors_and_escapes_user_input(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        form = {"login": "ann", "password": "a wrong one", "user_code": '"><script>'}
        answer = http.post("/oauth2/device", data=form)

        assert answer.status_code == 401
        assert "the login name or the password is wrong" in answer.text
        assert "<script>" not in answer.text

        csrf = world.login(http, cookie=True)["csrf"]
        missing = http.post("/oauth2/device", data={"user_code": "BBBB-BBBB", "csrf": csrf, "answer": "allow"})
        assert missing.status_code == 422
        assert "no device waits" in missing.text


def test_the_oauth_metadata_document_names_the_token_endpoint(world: AuthHarness, http: httpx.Client) -> None:
    said = http.get("/.well-known/oauth-authorization-server").json()

    assert said["issuer"] == world.url
    assert said["token_endpoint"] == f"{world.url}/oauth2/token"


def test_the_verification_uri_has_the_configured_public_address(front: Front) -> None:
    with front.serving(AuthHarness(address="https://headgate.acme.com/")) as client:
        asked = client.post("/oauth2/device_authorization").json()

    assert asked["verification_uri"] == "https://headgate.acme.com/oauth2/device"
