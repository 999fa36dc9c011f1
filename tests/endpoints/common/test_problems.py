"""Every error of the HTTP API is answered with a problem document."""

import logging
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ports import StoreError
from headgate.endpoints.common import problems
from headgate.endpoints.common.schemas import StrictSchema
from headgate.spark.sql.statements import DRIVER_LOST, LOST, STATEMENT_LOST, StatementError
from tests.threads import served


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    app = FastAPI()
    problems.install_problem_handlers(app)

    @app.get("/number/{number}")
    def number(number: int) -> int:
        return number

    @app.get("/broken")
    def broken() -> None:
        raise StoreError("the store `/data/headgate.db` cannot be used (disk full)")

    @app.post("/named")
    def named(body: Named) -> Named:
        return body

    @app.post("/strict")
    def strict(body: Empty) -> Empty:
        return body

    @app.get("/misspelt")
    def misspelt() -> None:
        raise MisspeltError("the word `t` is misspelt; correct it")

    with served(app) as address, httpx.Client(base_url=address, trust_env=False, timeout=30) as opened:
        yield opened


class Empty(StrictSchema):
    """A form without fields."""


class MisspeltError(InvalidError):
    """An error for which the endpoints state no status of its own."""


class Named(BaseModel):
    """A form with a field of several types."""

    parameters: dict[str, int | bool] | list[int | bool]


class TestEveryError:
    def test_an_error_has_the_status_of_its_base_class(self, client: httpx.Client) -> None:
        assert client.get("/misspelt").status_code == 422

    def test_a_long_path_is_not_repeated_in_full(self, client: httpx.Client) -> None:
        assert len(client.get(f"/{'a' * 60_000}").json()["detail"]) < 500

    @pytest.mark.parametrize(
        ("method", "path", "status", "code"),
        [
            ("GET", "/nothing", 404, "not-found"),
            ("DELETE", "/number/1", 405, "method-not-allowed"),
            ("GET", "/number/one", 422, "invalid"),
        ],
    )
    def test_every_error_is_a_problem_document(
        self, client: httpx.Client, method: str, path: str, status: int, code: str
    ) -> None:
        answer = client.request(method, path)

        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == f"urn:headgate:problem:{code}"
        assert answer.json()["detail"]

    @pytest.mark.parametrize(
        ("content", "at"),
        [
            (b"{}", "body.parameters"),
            (b'{"parameters": 1}', "body.parameters"),
            (b'{"parameters": {"a": [1]}}', "body.parameters.a"),
            (b'{"parameters": [1, "x"]}', "body.parameters.1"),
            (b"{", "body"),
        ],
    )
    def test_a_fault_of_a_body_names_the_field_in_plain_words(
        self, client: httpx.Client, content: bytes, at: str
    ) -> None:
        answer = client.post("/named", content=content, headers={"content-type": "application/json"})

        assert answer.status_code == 422
        (fault,) = answer.json()["faults"]
        assert fault["at"] == at
        assert fault["fault"][0].islower()

    def test_a_body_with_many_faults_has_twenty_listed_and_the_rest_counted(self, client: httpx.Client) -> None:
        answer = client.post("/strict", json={f"a{each}": 1 for each in range(300)}).json()

        assert len(answer["faults"]) == 20
        assert answer["detail"].endswith("; 20 faults are listed, and there are up to 280 more")

    def test_a_body_without_its_content_type_is_refused_with_the_header_to_send(self, client: httpx.Client) -> None:
        (fault,) = client.post("/named", content=b"{}").json()["faults"]

        assert fault == {
            "at": "body",
            "fault": "the body must be JSON; send it with `Content-Type: application/json`",
        }

    def test_an_error_of_the_store_is_logged_and_hidden_from_the_caller(
        self, client: httpx.Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.ERROR):
            answer = client.get("/broken")

        assert answer.status_code == 503
        assert "/data" not in answer.text
        assert "disk full" in caplog.text


def test_a_statement_lost_by_its_driver_is_not_reported_as_retryable() -> None:
    lost = problems.statement_problem(StatementError(STATEMENT_LOST, DRIVER_LOST, LOST))

    assert (lost["status"], lost["sqlstate"]) == (502, "08006")
    assert "was not run again" in lost["detail"]
