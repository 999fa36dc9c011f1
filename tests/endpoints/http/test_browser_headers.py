"""Headers that restrict what browsers do with an answer."""

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from tests.endpoints.http.asgi_client import ask, asks, behind, guarded


def pages() -> FastAPI:
    app = behind()

    @app.get("/page", response_class=HTMLResponse)
    async def page() -> str:
        return "<p>"

    @app.get("/own")
    async def own() -> HTMLResponse:
        return HTMLResponse("<p>", headers={"Content-Security-Policy": "default-src 'none'; style-src 'self'"})

    return app


class TestEveryAnswer:
    @pytest.mark.parametrize("path", ["/things/a", "/nothing", "/healthz", "/broken"])
    def test_every_answer_forbids_sniffing_framing_and_referrers(self, path: str) -> None:
        headers = ask(guarded(), "GET", path).headers

        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert "server" not in headers

    def test_a_page_may_load_resources_of_its_own_origin_only(self) -> None:
        here = asks(guarded(pages()))

        assert here("GET", "/page").headers["content-security-policy"].startswith("default-src 'self';")
        assert here("GET", "/own").headers.get_list("content-security-policy") == [
            "default-src 'none'; style-src 'self'"
        ]

    def test_an_answer_requires_tls_only_when_it_is_served_over_tls(self) -> None:
        plain, secure = asks(guarded()), asks(guarded(), base="https://here")

        assert "strict-transport-security" not in plain("GET", "/things/a").headers
        assert secure("GET", "/things/a").headers["strict-transport-security"] == "max-age=31536000"


class TestPagesOfOtherOrigins:
    ASKED = {"origin": "https://app.example.com", "access-control-request-method": "POST"}  # noqa: RUF012 (not changed)

    def test_a_page_of_another_origin_may_not_call_the_server(self) -> None:
        answer = ask(guarded(), "OPTIONS", "/things/a", headers=self.ASKED)

        assert "access-control-allow-origin" not in answer.headers

    def test_a_page_of_a_configured_origin_may_call_the_server_without_cookies(self) -> None:
        here = asks(guarded(origins=("https://app.example.com",)))

        asked = here("OPTIONS", "/things/a", headers=self.ASKED)
        other = here("OPTIONS", "/things/a", headers={**self.ASKED, "origin": "https://evil.example.com"})

        assert asked.headers["access-control-allow-origin"] == "https://app.example.com"
        assert "access-control-allow-credentials" not in asked.headers
        assert "access-control-allow-origin" not in other.headers
