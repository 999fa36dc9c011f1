"""Checks that the server supports the resource type of the recipe: `python -m tests.repo.recipes.resource_type FOLDER`."""

import sys
from pathlib import Path

from headgate.control.kernel.vocabulary import shipped_vocabulary
from tests.app.deployment_harness import world_in


def main() -> None:
    """Create, show, list and delete a resource of the type."""
    assert "playbook" in shipped_vocabulary().types
    body = {"type": "playbook", "parent": "project", "name": "outage"}
    with world_in(Path(sys.argv[1])) as world:
        world.add("ann", "admin")
        assert world.call("ann", "POST", "/resources", body).status_code == 403
        assert world.call("owner", "POST", "/resources", body).status_code == 201
        shown = world.call("ann", "GET", "/resources/outage").json()
        assert shown["actions"] == ["playbook.describe"], shown
        assert [each["name"] for each in world.call("ann", "GET", "/resources", type="playbook").json()["items"]] == [
            "outage"
        ]
        assert world.call("ann", "DELETE", "/resources/outage").status_code == 403
        assert world.call("owner", "DELETE", "/resources/outage").status_code == 200
        assert world.call("owner", "GET", "/resources/outage").status_code == 404


if __name__ == "__main__":
    main()
