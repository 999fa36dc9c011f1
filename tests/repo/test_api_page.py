"""The page of the API matches the routes that the application serves, and each route declares what it needs."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from headgate.app.deployment import open_deployment_over
from headgate.endpoints.common.route_metadata import NEEDS, OWN, PUBLIC
from headgate.store import open_stores
from tests.app.deployment_harness import DeploymentHarness, settings_in
from tools.docs.api_page import api_page

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Any]]:
    settings = settings_in(tmp_path_factory.mktemp("deployment"))
    deployment = open_deployment_over(settings, open_stores(":memory:"))
    world = DeploymentHarness(deployment)
    yield world.app.openapi()
    world.http.close()
    deployment.close()


def operations(document: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    found = ((f"{method.upper()} {path}", verbs[method]) for path, verbs in document["paths"].items()
             for method in METHODS if method in verbs)  # fmt: skip
    return sorted(found, key=lambda each: each[0])


def test_the_api_page_describes_the_served_routes(
    document: Mapping[str, Any], generated: Callable[[Path, str], None]
) -> None:
    generated(PAGE, api_page(document))


def test_every_route_is_on_the_page(document: Mapping[str, Any]) -> None:
    headings = [line.removeprefix("### ").strip("`") for line in api_page(document).splitlines() if line[:4] == "### "]

    assert sorted(headings) == [name for name, _ in operations(document)]


def test_every_route_says_what_it_needs_or_why_nothing(document: Mapping[str, Any]) -> None:
    silent = [name for name, each in operations(document) if not any(each.get(key) for key in (NEEDS, PUBLIC, OWN))]

    assert silent == []


def test_operations_are_named_as_a_generated_client_calls_them(document: Any) -> None:
    ids = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]

    assert len(ids) == len(set(ids))
    assert [id for id in ids if not re.fullmatch(r"[a-z]+(_[a-z]+)*", id) or "_v1_" in id] == []


def test_schemas_are_named_by_one_noun_each(document: Any) -> None:
    assert [name for name in document["components"]["schemas"] if not re.fullmatch(r"[A-Za-z]+", name)] == []
