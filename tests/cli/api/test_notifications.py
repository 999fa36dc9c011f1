"""`headgate notification`, against a server."""

import json

from tests.cli.api.commands import Commands


def test_a_notification_is_listed_and_dismissed(on_mesh: Commands) -> None:
    made = on_mesh.data("ben", "agreement", "create", "orders.port", "--purpose", "to hear", "-o", "json")
    id = f"access.{json.loads(made)['id']}.requested"
    assert id in on_mesh.run("ann", "notification", "list")

    assert f"notification {id} is dismissed" in on_mesh.run("ann", "notification", "dismiss", id)

    assert id not in on_mesh.run("ann", "notification", "list")
    assert id not in on_mesh.data("ann", "notification", "list", "-o", "json")


def test_an_empty_list_says_so(on_lake: Commands) -> None:
    on_lake.place.add("zoe")

    assert "there is no notification for you" in on_lake.run("zoe", "notification", "list")
    assert on_lake.data("zoe", "notification", "list", "--output", "json") == "[]\n"
