"""Checks that the server supports the pipeline kind of the recipe: `python -m tests.repo.recipes.pipeline_kind FOLDER`."""

import sys
from pathlib import Path
from typing import Any

from headgate.control.resources.document_kinds import document_kinds
from headgate.pipelines.kinds import KINDS, kind_of, parse_definition
from tests.app.deployment_harness import DeploymentHarness, world_in

DEFINITION = {"kind": "row_count", "name": "rows", "input": "lake.raw.flights", "into": "lake.raw.counts"}


def main() -> None:
    """Check every feature in which a kind of pipeline takes part."""
    assert kind_of(parse_definition(DEFINITION)) is KINDS["row_count"]
    assert document_kinds("row_count") == document_kinds("history")
    with world_in(Path(sys.argv[1])) as world:
        check_document(world.app.openapi())
        check_decisions(world)
        check_life(world)


def check_document(document: Any) -> None:
    """Check that the OpenAPI document lists the definition of the kind."""
    body = document["paths"]["/api/v1/pipelines/{pipeline}"]["put"]["requestBody"]["content"]["application/json"]
    assert "row_count" in body["schema"]["discriminator"]["mapping"]


def check_decisions(world: DeploymentHarness) -> None:
    """Check that the model decides on its creation: a viewer of the layer may not create it, an editor may."""
    table = {"type": "table", "parent": "lake.raw", "name": "flights"}
    assert world.call("owner", "POST", "/resources", table).status_code == 201
    for name, role in (("vic", "viewer"), ("ed", "editor")):
        world.add(name)
        assert world.give(name, role, "lake.raw").status_code == 201
    answers = [world.call(name, "PUT", "/pipelines/rows", DEFINITION).status_code for name in ("vic", "ed")]
    assert answers == [403, 200], answers


def check_life(world: DeploymentHarness) -> None:
    """Check that the pipeline is listed and shown with its definition, runs, and is deleted together with its document."""
    shown = world.call("ed", "GET", "/pipelines/rows").json()
    assert shown["definition"] == parse_definition(DEFINITION).model_dump(mode="json")
    assert [each["name"] for each in world.call("vic", "GET", "/pipelines", kind="row_count").json()["items"]] == [
        "rows"
    ]
    store = world.opened.store
    assert store.document("pipeline", shown["id"]) is not None
    assert world.call("ed", "POST", "/pipelines/rows/runs").status_code in (200, 201, 202)
    assert world.call("vic", "DELETE", "/pipelines/rows").status_code == 403
    assert world.call("owner", "DELETE", "/pipelines/rows").status_code == 200
    assert store.document("pipeline", shown["id"]) is None


if __name__ == "__main__":
    main()
