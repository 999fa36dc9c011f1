"""The routes of AuthZEN are in the OpenAPI document, although FastAPI, which generates it, does not serve them."""

from typing import Any

from fastapi import FastAPI

from headgate.endpoints.authzen.endpoints import ENDPOINTS, WELL_KNOWN
from headgate.endpoints.authzen.openapi import add_authzen_paths
from headgate.endpoints.common.route_metadata import OWN, PUBLIC


def told() -> dict[str, Any]:
    app = FastAPI(title="t", version="1")
    add_authzen_paths(app)
    app.openapi()
    return app.openapi()


def references(value: Any) -> set[str]:
    """Return every reference in the document."""
    if isinstance(value, list):
        return set().union(*(references(each) for each in value))
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if "$ref" in value else set()
    return own.union(*(references(each) for each in value.values()))


def test_every_endpoint_is_documented_with_its_required_credential() -> None:
    paths = told()["paths"]

    assert {each.path for each in ENDPOINTS} | {WELL_KNOWN} == set(paths)
    assert all(OWN in paths[each.path]["post"] for each in ENDPOINTS)
    assert PUBLIC in paths[WELL_KNOWN]["get"]


def test_every_reference_in_the_document_resolves() -> None:
    found = told()

    for reference in references(found):
        at: Any = found
        for part in reference.removeprefix("#/").split("/"):
            at = at[part]


def test_every_possible_error_is_declared() -> None:
    for each in ENDPOINTS:
        declared = told()["paths"][each.path]["post"]["responses"]

        assert set(declared) >= {"200", "400", "401", "403", "413", "429", "503"}
        assert {"text/plain", "application/problem+json"} == set(declared["403"]["content"])
