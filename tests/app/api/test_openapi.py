from tests.app.world import World


def test_what_makes_something_says_what_a_dry_run_answers(world: World) -> None:
    paths = world.app.openapi()["paths"]
    makes = [
        item["post"]["responses"]
        for item in paths.values()
        if "post" in item and any(each["name"] == "dry_run" for each in item["post"].get("parameters", ()))
    ]

    assert makes
    for responses in makes:
        assert "200" in responses or "202" in responses
        if "201" in responses:
            assert responses["200"]["content"] == responses["201"]["content"]
