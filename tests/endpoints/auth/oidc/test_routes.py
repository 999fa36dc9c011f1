import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from joserfc.jwk import OctKey, RSAKey
from starlette.responses import JSONResponse, RedirectResponse, Response

from headgate.control.authentication.errors import LoginError
from headgate.control.authentication.settings import Provider
from headgate.endpoints.auth.oidc.client import LoginAttempt, ProviderClient
from headgate.endpoints.auth.oidc.errors import ProviderError
from tests.endpoints.auth.auth_harness import AuthHarness, Front
from tests.endpoints.auth.forged_tokens import FORGERIES
from tests.endpoints.auth.provider import CLIENT, ELLIPTIC, RSA, SECRET, Doorway, FakeProvider

NOW = 1_000_000.0
NONCE = "the nonce"


@pytest.fixture
def fake(providers: Doorway) -> FakeProvider:
    found = FakeProvider(NOW)
    found.issuer, providers.provider = providers.url, found
    return found


def settings(fake: FakeProvider, **more: Any) -> Provider:
    return Provider(fake.issuer, CLIENT, SECRET, **{"join": frozenset({"ACME.com"}), **more})


def client(fake: FakeProvider, **more: Any) -> ProviderClient:
    return ProviderClient(settings(fake, **more), lambda: fake.now)


NO_TIMES = (float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 10**400, -(10**400))
"""Numbers that Python reads from JSON, and that are not valid times."""


class TestAnIdentityToken:
    def test_an_identity_token_names_issuer_subject_email_and_name(self, fake: FakeProvider) -> None:
        who = client(fake).verify_id_token(fake.token(NONCE), NONCE)

        assert (who.issuer, who.subject, who.email, who.name) == (fake.issuer, "1", "ann@acme.com", "Ann")

    @pytest.mark.parametrize(
        ("said", "name"),
        [
            ({"name": "Ann\nO'Neil \u202e x"}, "Ann O'Neil x"),
            ({"name": None, "preferred_username": "ann"}, "ann"),
            ({"name": ""}, "ann@acme.com"),
            ({"name": ["x"], "email_verified": False}, "1"),
            ({"name": "x" * 5000}, "x" * 100),
        ],
    )
    def test_the_name_from_an_identity_token_is_cleaned_and_shortened(
        self, fake: FakeProvider, said: dict[str, Any], name: str
    ) -> None:
        assert client(fake).verify_id_token(fake.token(NONCE, **said), NONCE).name == name

    @pytest.mark.parametrize("claims", [{"aud": [CLIENT]}, {"aud": [CLIENT, "other"], "azp": CLIENT}, {"nbf": NOW}])
    def test_an_identity_token_for_several_clients_is_accepted_if_issued_to_this_one(
        self, fake: FakeProvider, claims: dict[str, Any]
    ) -> None:
        assert client(fake).verify_id_token(fake.token(NONCE, **claims), NONCE)

    @pytest.mark.parametrize(
        "claims",
        [
            {"aud": "other"},
            {"aud": ["other"]},
            {"aud": None},
            {"aud": {CLIENT: 1}},
            {"aud": [CLIENT, "other"]},
            {"azp": "other"},
            {"iss": "https://evil.example"},
            {"iss": None},
            {"nonce": "another"},
            {"nonce": None},
            {"nonce": ["the nonce"]},
            {"sub": None},
            {"sub": ""},
            {"sub": 1},
            {"sub": "x" * 256},
            {"exp": NOW - 61},
            {"exp": None},
            {"exp": "never"},
            {"exp": True},
            {"iat": NOW + 61},
            {"iat": None},
            {"nbf": NOW + 61},
            {"nbf": "later"},
            *({name: value} for name in ("exp", "iat", "nbf") for value in NO_TIMES),
        ],
        ids=str,
    )
    def test_an_identity_token_with_a_wrong_or_missing_claim_is_refused(
        self, fake: FakeProvider, claims: dict[str, Any]
    ) -> None:
        with pytest.raises(LoginError):
            client(fake).verify_id_token(fake.token(NONCE, **claims), NONCE)

    def test_an_identity_token_may_deviate_from_the_clock_by_the_allowed_skew(self, fake: FakeProvider) -> None:
        late, early = fake.token(NONCE, exp=NOW - 30), fake.token(NONCE, iat=NOW + 30, nbf=NOW + 30)

        for token in (late, early):
            assert client(fake).verify_id_token(token, NONCE)
            with pytest.raises(LoginError):
                client(fake, skew=10.0).verify_id_token(token, NONCE)

    def test_an_identity_token_may_be_signed_with_any_allowed_algorithm(self, fake: FakeProvider) -> None:
        fake.key, fake.algorithm, fake.published = ELLIPTIC, "ES256", [RSA[0], ELLIPTIC]

        assert client(fake).verify_id_token(fake.token(NONCE), NONCE)
        with pytest.raises(LoginError):
            client(fake, algorithms=("RS256",)).verify_id_token(fake.token(NONCE), NONCE)

    def test_an_identity_token_without_a_key_id_is_checked_against_every_key(self, fake: FakeProvider) -> None:
        claims = {**fake.claims, "iss": fake.issuer, "aud": CLIENT, "exp": NOW + 9, "iat": NOW, "nonce": NONCE}
        fake.published = [RSA[1], RSA[0]]

        assert client(fake).verify_id_token(fake.signed({"alg": "RS256"}, claims, RSA[0]), NONCE)

    @pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
    def test_a_forged_identity_token_is_refused(
        self, fake: FakeProvider, forge: Callable[[FakeProvider, str], str]
    ) -> None:
        with pytest.raises(LoginError):
            client(fake).verify_id_token(forge(fake, NONCE), NONCE)

    def test_an_identity_token_signed_with_a_published_symmetric_key_is_refused(self, fake: FakeProvider) -> None:
        fake.key, fake.algorithm = OctKey.generate_key(256, {"kid": "oct"}), "HS256"
        fake.published = [fake.key, RSA[0]]

        with pytest.raises(LoginError):
            client(fake, algorithms=("HS256", "RS256")).verify_id_token(fake.token(NONCE), NONCE)

    def test_an_identity_token_signed_with_an_encryption_key_is_refused(self, fake: FakeProvider) -> None:
        encrypting = RSAKey.import_key(RSA[0].as_dict(private=False) | {"use": "enc"})
        fake.published = [encrypting]

        with pytest.raises(LoginError):
            client(fake).verify_id_token(fake.token(NONCE), NONCE)


class TestKeys:
    def test_the_keys_are_fetched_again_when_a_token_names_a_new_one(self, fake: FakeProvider) -> None:
        ours = client(fake)
        assert ours.verify_id_token(fake.token(NONCE), NONCE)
        before = len(fake.asked)
        assert ours.verify_id_token(fake.token(NONCE), NONCE)
        assert len(fake.asked) == before

        fake.rotate(keep=True)
        fake.now += 120
        assert ours.verify_id_token(fake.token(NONCE), NONCE)
        assert len(fake.asked) == before + 2

    def test_unknown_keys_do_not_cause_a_fetch_for_each_token(self, fake: FakeProvider) -> None:
        ours = client(fake)
        assert ours.verify_id_token(fake.token(NONCE), NONCE)
        before = len(fake.asked)

        for step in range(10):
            fake.now += 10 if step else 70
            fake.key = RSAKey.import_key(RSA[1].as_dict(private=True) | {"kid": f"made{step}"})
            with pytest.raises(LoginError):
                ours.verify_id_token(fake.token(NONCE), NONCE)
        assert len(fake.asked) - before == 2 * 2

    def test_a_withdrawn_key_is_trusted_only_until_the_next_refresh(self, fake: FakeProvider) -> None:
        ours, old = client(fake), fake.token(NONCE, exp=NOW + 10_000)
        assert ours.verify_id_token(old, NONCE)

        fake.rotate()
        fake.now += 3600
        with pytest.raises(LoginError):
            ours.verify_id_token(old, NONCE)


class TestAProvider:
    @pytest.mark.parametrize(
        "answer",
        [
            JSONResponse({"issuer": "https://evil.example"}),
            JSONResponse([]),
            Response("hello"),
            Response("{" * 2_000_000),
            JSONResponse({}, 500),
            RedirectResponse("https://evil.example"),
        ],
        ids=["another issuer", "no object", "no json", "endless", "broken", "elsewhere"],
    )
    def test_a_provider_that_violates_the_specification_is_refused(self, fake: FakeProvider, answer: Response) -> None:
        fake.broken = answer
        with pytest.raises(ProviderError):
            client(fake).authorization_url(LoginAttempt.begin(), "http://127.0.0.1/back")

    @pytest.mark.parametrize("address", ["http://evil.example/authorize", "file:///etc/passwd", "", "//evil.example"])
    def test_a_provider_address_without_tls_is_refused(self, fake: FakeProvider, address: str) -> None:
        fake.metadata = {"authorization_endpoint": address}
        with pytest.raises(ProviderError):
            client(fake).authorization_url(LoginAttempt.begin(), "http://127.0.0.1/back")

    def test_an_unreachable_provider_is_a_provider_error(self, fake: FakeProvider) -> None:
        gone = Provider("http://127.0.0.1:9", CLIENT)
        with pytest.raises(ProviderError, match="cannot be reached"):
            ProviderClient(gone, lambda: NOW).authorization_url(LoginAttempt.begin(), "http://127.0.0.1/back")


class TestLoggingIn:
    """Complete logins: the redirect to the provider and back, like in a browser."""

    def world(self, fake: FakeProvider, **more: Any) -> AuthHarness:
        return AuthHarness(provider=settings(fake, **more))

    def go(self, http: httpx.Client, *, next: str = "/console") -> httpx.Response:
        """Log in; returns the answer to the redirect from the provider."""
        sent = http.get("/oidc/login", params={"next": next})
        assert sent.status_code == 303, sent.text
        back = httpx.get(sent.headers["location"], trust_env=False, timeout=30)
        return http.get(back.headers["location"])

    def test_a_login_from_an_allowed_domain_creates_a_user_once(self, front: Front, fake: FakeProvider) -> None:
        world = self.world(fake)
        with front.serving(world) as http:
            answer = self.go(http)

            assert (answer.status_code, answer.headers["location"]) == (303, "/console")
            principal = http.get("/api/v1/session").json()["principal"]
            user = world.auth_services.authentication.user(principal)
            assert user is not None
            assert (user.name, user.email) == ("Ann", "ann@acme.com")
            assert self.go(http).status_code == 303
            assert http.get("/api/v1/session").json()["principal"] == principal

    def test_a_login_is_linked_to_a_user_only_by_an_address_that_the_provider_verified(
        self, front: Front, fake: FakeProvider
    ) -> None:
        world = self.world(fake, join=frozenset())
        ann = world.auth_services.authentication.register("another ann", email="ann@acme.com", verified=True)
        with front.serving(world) as http:
            for said in (None, False, "no", 1):
                fake.claims["email_verified"] = said
                assert self.go(http).status_code == 401
            fake.claims["email_verified"] = True
            assert self.go(http).status_code == 303
            assert http.get("/api/v1/session").json()["principal"] == ann
            fake.claims |= {"email": "ann@elsewhere.com", "email_verified": False}
            self.go(http)
            assert http.get("/api/v1/session").json()["principal"] == ann

    def test_a_login_with_the_address_of_another_subject_is_refused(self, front: Front, fake: FakeProvider) -> None:
        """Companies give an email address to a new person, but the provider's subject of a person is never used again."""
        with front.serving(self.world(fake)) as http:
            assert self.go(http).status_code == 303
            fake.claims["sub"] = "2"
            assert self.go(http).status_code == 401

    def test_a_login_is_not_linked_to_a_user_with_an_unverified_address(self, front: Front, fake: FakeProvider) -> None:
        """Otherwise an attacker registers with a victim's address, waits for the victim's login, and shares the account."""
        world = self.world(fake, join=frozenset())
        world.auth_services.authentication.register("eve", email="ann@acme.com")
        with front.serving(world) as http:
            assert self.go(http).status_code == 401

    @pytest.mark.parametrize("email", ["ann@elsewhere.com", "ann@acme.com.evil.example", "ann@evil.acme.com", None])
    def test_a_login_from_a_domain_that_may_not_join_is_refused(
        self, front: Front, fake: FakeProvider, email: str | None
    ) -> None:
        fake.claims["email"] = email
        world = self.world(fake)
        with front.serving(world) as http:
            assert self.go(http).status_code == 401
        assert len(world.auth_services.authentication.users()) == 1

    def test_a_login_can_be_finished_only_by_the_browser_that_began_it(self, front: Front, fake: FakeProvider) -> None:
        """Otherwise an attacker's code logs the victim in as the attacker, or a stolen code logs the thief in."""
        with front.serving(self.world(fake)) as http:
            sent = http.get("/oidc/login")
            back = httpx.get(sent.headers["location"], trust_env=False, timeout=30).headers["location"]
            with httpx.Client(trust_env=False, timeout=30) as other:
                assert other.get(back).status_code == 401
                other.get(f"{http.base_url}/oidc/login")
                assert other.get(back).status_code == 401
                mine = dict(parse_qsl(urlsplit(other.get(f"{http.base_url}/oidc/login").headers["location"]).query))
                stolen = re.sub(r"state=[^&]*", f"state={mine['state']}", back)
                assert other.get(stolen).status_code == 503
            assert not http.cookies.get("headgate")

    def test_a_login_redirects_only_to_a_local_path(self, front: Front, fake: FakeProvider) -> None:
        with front.serving(self.world(fake)) as http:
            for next in ("https://evil.example", "//evil.example", "/\\evil.example", "/ x", "x", "/\r\nx: y", ""):
                assert http.get("/oidc/login", params={"next": next}).status_code == 422
            odd = '/o/acme?a="1"&b=;,#c'
            assert self.go(http, next=odd).headers["location"].replace("%22", '"') == odd

    def test_a_login_that_the_provider_denies_is_refused(self, front: Front, fake: FakeProvider) -> None:
        with front.serving(self.world(fake)) as http:
            sent = http.get("/oidc/login")
            state = dict(parse_qsl(urlsplit(sent.headers["location"]).query))["state"]
            assert http.get("/oidc/callback", params={"error": "access_denied", "state": state}).status_code == 401
            assert http.get("/oidc/callback", params={"state": state}).status_code == 401
            assert http.get("/oidc/callback").status_code == 401

    def test_a_login_succeeds_at_a_provider_that_needs_client_secret_post(
        self, front: Front, fake: FakeProvider
    ) -> None:
        fake.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        with front.serving(self.world(fake)) as http:
            assert self.go(http).status_code == 303

    def test_a_login_is_answered_with_503_while_the_provider_is_broken(self, front: Front, fake: FakeProvider) -> None:
        fake.broken = JSONResponse({}, 500)
        with front.serving(self.world(fake)) as http:
            answer = http.get("/oidc/login")
            assert answer.status_code == 503
            assert "retry-after" in answer.headers
            assert fake.issuer not in answer.text

    def test_the_login_endpoint_is_missing_where_no_provider_is_configured(self, front: Front) -> None:
        with front.serving(AuthHarness()) as http:
            assert http.get("/oidc/login").status_code == 404
