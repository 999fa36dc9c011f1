"""`headgate token`: tokens that act in a team."""

from tests.cli.api.commands import Commands


def test_a_token_shows_the_team_in_which_it_acts(on_mesh: Commands) -> None:
    secret = on_mesh.data("ann", "token", "create", "--acts-in", "shop", "--label", "of the shop").strip()

    assert " shop " in next(row for row in on_mesh.data("ann", "token", "list").splitlines() if "of the shop" in row)
    on_mesh.place.tokens["ann in shop"] = secret
    assert on_mesh.data("ann in shop", "auth", "whoami").startswith("ann, acts in shop (")


def test_a_token_of_a_user_outside_the_team_is_refused_with_the_team(on_mesh: Commands) -> None:
    refused = on_mesh.invoke("ben", "token", "create", "--acts-in", "shop")

    assert "is not a member of the team `shop`, so the token cannot act in it" in str(refused.exception)
