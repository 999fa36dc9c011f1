"""Checks that the server serves the endpoint of the recipe: `python -m tests.repo.recipes.endpoint FOLDER`."""

import sys
from pathlib import Path

from tests.app.deployment_harness import world_in


def main() -> None:
    """Call the endpoint as a user who may see everything, as one who may see less, and without a token."""
    with world_in(Path(sys.argv[1])) as world:
        assert set(world.app.openapi()["paths"]["/api/v1/type-counts"]) == {"get"}
        world.add("ann")
        assert world.call("owner", "GET", "/type-counts").json()["counts"]["database"] == 2
        assert "database" not in world.call("ann", "GET", "/type-counts").json()["counts"]
        assert world.http.get("/api/v1/type-counts").status_code == 401


if __name__ == "__main__":
    main()
