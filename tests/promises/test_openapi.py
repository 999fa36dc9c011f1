"""The OpenAPI document is complete: each request that it permits gets an answer that it declares."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi import checks

from headgate.app.background import run_in_background
from headgate.app.settings.settings import Settings
from headgate.endpoints.http.limits import Limits
from tests.app.deployment_harness import OrganizationClient
from tests.soak import count

load_all_checks()
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
STEPS, SOAK_SCENARIOS = 40, 80
WITHIN = 60.0
"""The limit in seconds for one answer; generous, because other processes use the machine too."""
NEEDS_SPARK = ("/api/v1/sql",)
"""Paths that answer 503 without Spark; the document declares that answer."""


@dataclass(frozen=True)
class Served:
    """A served deployment, and the tokens of the callers."""

    url: str
    tokens: dict[str, str]
    new_token: Callable[[], str]
    """Returns another token of the owner."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder, limits = tmp_path_factory.mktemp("openapi"), Limits(address_rate=0.0, principal_rate=0.0)
    given = Settings(folder, folder / "cache", None, api_port=0, gateway_port=0, spark=False, limits=limits)
    with (
        run_in_background(given, print) as server,
        httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client,
    ):
        place = OrganizationClient(client, server.deployment.home, "", {})
        owner = next(iter(place.control.snapshot.principals))
        place.add("vic")
        for name in ("raw", "secret"):
            place.tokens["owner"] = place.tokens.get("owner") or place.token(owner)
            assert place.call("owner", "POST", "/databases", {"name": name}).status_code == 201
        tokens = {"owner": place.tokens["owner"], "member": place.tokens["vic"], "stranger": ""}
        yield Served(server.url, tokens, lambda: place.token(owner))


@pytest.fixture(params=[(6, 2), pytest.param((1, 25), marks=[pytest.mark.soak])], ids=["some", "all"])
def much(request: pytest.FixtureRequest) -> tuple[int, int]:
    """The share of the routes that is tried (one of this number), and the number of requests to each."""
    return request.param


@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", ["owner", "member", "stranger"])
def test_every_answer_is_one_that_the_document_declares(served: Served, who: str, much: tuple[int, int]) -> None:
    share, examples = much
    document = schemathesis.openapi.from_url(f"{served.url}/api/openapi.json")
    operations: list[Any] = [each.ok() for each in document.get_all_operations()]  # pyright: ignore[reportAttributeAccessIssue]
    tried = [each for each in operations if each.path not in NEEDS_SPARK]
    first = ["owner", "member", "stranger"].index(who)

    faults = [each for one in tried[first % share :: share] for each in faults_of(one, served.tokens[who], examples)]

    assert faults == []


def faults_of(operation: Any, token: str, examples: int) -> list[str]:
    """Send requests to one route and return the faults in the answers."""
    found: dict[str, None] = {}
    with requests.Session() as session:
        session.trust_env = False

        @generated(max_examples=examples)
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            response = case.call(headers=bearer(token), session=session, timeout=WITHIN)
            found.update(dict.fromkeys(faults_in(response, case)))

        check()
    return list(found)


def faults_in(response: Any, case: Any) -> list[str]:
    """Return the faults in an answer."""
    try:
        case.validate_response(response, checks=CHECKS)
    except schemathesis.errors.SchemathesisError as error:
        return [str(error)]
    except BaseExceptionGroup as group:
        return [f"{case.operation.label}: {each}" for each in group.exceptions]
    return []


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


def generated(**more: Any) -> settings:
    """Return Hypothesis settings that generate the same requests each time."""
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    return settings(
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=checks,
        **more,
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scenarios", [2, pytest.param(SOAK_SCENARIOS, marks=[pytest.mark.soak])])
def test_steps_that_build_on_each_other_are_answered_as_the_document_declares(served: Served, scenarios: int) -> None:
    """Each step uses ids that an earlier step of its scenario created or read."""
    document: Any = schemathesis.openapi.from_url(f"{served.url}/api/openapi.json")
    statuses, faults = Counter[int](), dict[str, None]()

    class Steps(document.as_state_machine()):
        def setup(self) -> None:
            # A new token for each scenario, because a step may revoke the one in use.
            self.token = served.new_token()
            self.session = requests.Session()
            self.session.trust_env = False

        def teardown(self) -> None:
            self.session.close()

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": bearer(self.token), "session": self.session, "timeout": WITHIN}

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            statuses[response.status_code] += 1
            faults.update(dict.fromkeys(faults_in(response, case)))

    Steps.run(settings=generated(max_examples=scenarios, stateful_step_count=STEPS))

    sent, done = sum(statuses.values()), sum(number for status, number in statuses.items() if status < 300)
    count(f"stateful API steps: {sent} in {scenarios} scenarios, {done} carried out, {len(faults)} faults")
    assert list(faults) == []
    assert sent >= (2_000 if scenarios == SOAK_SCENARIOS else scenarios)
    assert done > sent / 10, statuses
