"""The OpenAPI document is the truth: whatever it lets anybody send is answered, and with nothing that it does not declare."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi import checks

from headgate.app.background import running
from headgate.app.settings import Settings
from headgate.doors.http.limits import Limits
from tests.app.world import Place

load_all_checks()
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
WITHIN = 60.0
"""Seconds for one answer; generous, because machines are shared."""
NEEDS_SPARK = ("/api/v1/sql",)
"""What answers 503 without it, which is declared and no failure."""


@dataclass(frozen=True)
class Served:
    """A deployment as it is served, and the tokens of who calls."""

    url: str
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder, limits = tmp_path_factory.mktemp("openapi"), Limits(address_rate=0.0, principal_rate=0.0)
    given = Settings(folder, folder / "cache", None, api_port=0, gateway_port=0, spark=False, limits=limits)
    with running(given, print) as server, httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        place = Place(client, server.deployment.home, "", {})
        owner = next(iter(place.control.snapshot.principals))
        place.add("vic")
        for name in ("raw", "secret"):
            place.tokens["owner"] = place.tokens.get("owner") or place.token(owner)
            assert place.call("owner", "POST", "/databases", {"name": name}).status_code == 201
        yield Served(server.url, {"owner": place.tokens["owner"], "member": place.tokens["vic"], "nobody": ""})


@pytest.fixture(params=[(6, 2), pytest.param((1, 25), marks=[pytest.mark.soak])], ids=["some", "all"])
def much(request: pytest.FixtureRequest) -> tuple[int, int]:
    """One in so many routes is tried, with so many requests."""
    return request.param


@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", ["owner", "member", "nobody"])
def test_every_answer_is_one_that_the_document_declares(served: Served, who: str, much: tuple[int, int]) -> None:
    share, examples = much
    document = schemathesis.openapi.from_url(f"{served.url}/api/openapi.json")
    operations: list[Any] = [each.ok() for each in document.get_all_operations()]  # pyright: ignore[reportAttributeAccessIssue]
    tried = [each for each in operations if each.path not in NEEDS_SPARK]
    first = ["owner", "member", "nobody"].index(who)

    faults = [each for one in tried[first::share] for each in faults_of(one, served.tokens[who], examples)]

    assert faults == []


def faults_of(operation: Any, token: str, examples: int) -> list[str]:
    """Send requests to one route and return what is wrong with its answers."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    found: dict[str, None] = {}
    with requests.Session() as session:
        session.trust_env = False

        @settings(
            max_examples=examples,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        )
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            response = case.call(headers=headers, session=session, timeout=WITHIN)
            try:
                case.validate_response(response, checks=CHECKS)
            except schemathesis.errors.SchemathesisError as error:
                found[str(error)] = None
            except BaseExceptionGroup as group:
                found.update(dict.fromkeys(f"{operation.label}: {each}" for each in group.exceptions))

        check()
    return list(found)
