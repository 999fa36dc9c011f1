"""Each request has an id, and error messages reveal no internals."""

import logging
import re

import pytest

from headgate.endpoints.http.organization_path import OrganizationPathMiddleware
from tests.endpoints.http.asgi_client import ask, behind, guarded


class TestTheRequestId:
    def test_a_valid_request_id_of_the_caller_is_used(self) -> None:
        answer = ask(guarded(), "GET", "/things/a", headers={"x-request-id": "caller-0001.x"})

        assert answer.headers["x-request-id"] == answer.json()["request"] == "caller-0001.x"

    @pytest.mark.parametrize("given", ["", "short", "a" * 65, "two words", "line\tbreak!", "q=1;drop table"])
    def test_an_invalid_request_id_is_replaced_by_a_generated_one(self, given: str) -> None:
        answer = ask(guarded(), "GET", "/things/a", headers={"x-request-id": given})

        assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
        assert answer.headers["x-request-id"] == answer.json()["request"]

    def test_a_refusal_has_a_request_id_too(self) -> None:
        assert ask(guarded(), "GET", "/nothing").headers["x-request-id"]


class TestAnError:
    def test_an_unexpected_error_is_a_problem_with_the_request_id_and_no_internals(
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

    def test_an_unexpected_error_in_a_route_reveals_no_internals(self) -> None:
        answer = ask(guarded(), "GET", "/broken")

        assert answer.status_code == 500
        assert "secret" not in answer.text


class TestTheLog:
    def test_the_request_log_has_one_line_per_request_without_query_body_or_secret(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
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

    def test_the_request_log_omits_a_path_that_matches_no_route(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "headgate.requests"):
            ask(guarded(), "GET", "/somebody@example.com")

        assert [each.__dict__["fields"]["route"] for each in caplog.records] == ["unmatched"]

    def test_the_request_log_omits_probes(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "headgate.requests"):
            ask(guarded(), "GET", "/healthz")

        assert caplog.records == []
