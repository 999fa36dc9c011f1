"""The client of the API names exactly the object that the user wrote."""

import pytest

from headgate.cli.client import api_path, stored_credential
from headgate.cli.errors import ApiError


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_lead_to_another_object_is_refused(name: str) -> None:
    """`DELETE /groups/gg/members/..` is `DELETE /groups/gg` to a server."""
    with pytest.raises(ApiError, match="a name or an id"):
        api_path("groups", "gg", "members", name)


@pytest.mark.parametrize(
    ("name", "path"),
    [("a/b", "/users/a%2Fb"), ("a?b#c", "/users/a%3Fb%23c"), ("../x", "/users/..%2Fx"), ("...", "/users/...")],
)
def test_a_name_stays_one_part_of_the_path(name: str, path: str) -> None:
    assert api_path("users", name) == path


def test_an_empty_token_is_refused_and_does_not_become_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", "")

    with pytest.raises(ApiError, match="HEADGATE_TOKEN is empty"):
        stored_credential()
