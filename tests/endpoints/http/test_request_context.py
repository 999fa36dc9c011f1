"""Each request has an id, and whatever goes wrong is told without the inside's words."""

import logging
import re

import pytest

from headgate.endpoints.http.organization_path import OrganizationPathMiddleware
from tests.endpoints.http.asgi_client import ask, behind, guarded


class TestTheRequestId:
    def test_is_taken_over_when_it_is_a_sane_word(self) -> None:
        answer = ask(guarded(), "GET", "/things/a", headers={"x-request-id": "caller-0001.x"})

        assert answer.headers["x-request-id"] == answer.json()["request"] == "caller-0001.x"

    @pytest.mark.parametrize("given", ["", "short", "a" * 65, "two words", "line\tbreak!", "q=1;drop table"])
    def test_is_made_otherwise(self, given: str) -> None:
        answer = ask(guarded(), "GET", "/things/a", headers={"x-request-id": given})

        assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
        assert answer.headers["x-request-id"] == answer.json()["request"]

    def test_stands_on_refusals_too(self) -> None:
        assert ask(guarded(), "GET", "/nothing").headers["x-request-id"]


class TestAnError:
    def test_is_a_problem_that_names_the_request_and_nothing_of_the_inside(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def broken(*_: object) -> None:
            raise LookupError("a secret of the inside")

        answer = ask(guarded(broken), "GET", "/", headers={"x-request-id": "caller-0001"})

        assert answer.status_code == 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert "caller-0001" in answer.json()["detail"]
        assert "secret" not in answer.text
        assert "a secret of the inside" in caplog.text

    def test_of_the_framework_ends_there_too(self) -> None:
        answer = ask(guarded(), "GET", "/broken")

        assert answer.status_code == 500
        assert "secret" not in answer.text


class TestTheLog:
    def test_has_one_line_for_each_request_without_query_body_or_secret(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "headgate.requests"):
            ask(
                guarded(OrganizationPathMiddleware(behind())),
                "GET",
                "/o/acme/below/named/wages?q=1",
                headers={"authorization": "Bearer x"},
            )

        (record,) = [each for each in caplog.records if each.name == "headgate.requests"]
        told = record.__dict__["fields"]
        assert told.pop("ms") >= 0
        assert re.fullmatch("[0-9a-f]{32}", told.pop("request"))
        assert told == {
            "method": "GET",
            "route": "/below/named/{name}",
            "status": 200,
            "principal": "p-1",
            "organization": "o-1",
        }

    def test_names_no_path_that_no_route_has(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "headgate.requests"):
            ask(guarded(), "GET", "/somebody@example.com")

        assert [each.__dict__["fields"]["route"] for each in caplog.records] == ["unmatched"]

    def test_is_silent_about_probes(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "headgate.requests"):
            ask(guarded(), "GET", "/healthz")

        assert caplog.records == []
