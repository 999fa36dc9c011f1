"""Checks that the server serves the noun of the recipe: `python -m tests.repo.recipes.api_noun FOLDER`."""

import sys
from pathlib import Path

from tests.app.deployment_harness import world_in


def main() -> None:
    """Create and list resources at the noun, and show and delete one like every resource."""
    with world_in(Path(sys.argv[1])) as world:
        assert set(world.app.openapi()["paths"]["/api/v1/playbooks"]) == {"get", "post"}
        world.add("ann", "admin")
        assert world.call("ann", "POST", "/playbooks", {"name": "outage"}).status_code == 403
        assert world.call("owner", "POST", "/playbooks", {"name": "outage"}).status_code == 201
        (found,) = world.call("ann", "GET", "/playbooks").json()["items"]
        assert (found["type"], found["name"]) == ("playbook", "outage")
        assert world.call("ann", "GET", "/resources/outage").status_code == 200
        assert world.call("owner", "DELETE", "/resources/outage").status_code == 200
        assert world.call("ann", "GET", "/playbooks").json()["items"] == []


if __name__ == "__main__":
    main()
