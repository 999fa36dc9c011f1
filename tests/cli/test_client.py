"""The client of the API names exactly the object that the user wrote."""

import os

import pytest

from headgate.cli.client import api_path, may_use_tls, stored_credential
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


@pytest.mark.parametrize("token", ["hgt.one two", "hgt.one\n", "hgt.\u00e9", "\x00"])
def test_a_token_that_no_header_can_contain_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setattr(os, "environ", {"HEADGATE_TOKEN": token})

    with pytest.raises(ApiError, match="HEADGATE_TOKEN contains a space, a line break or another character") as caught:
        stored_credential()

    assert token not in str(caught.value)


def test_an_empty_token_is_refused_and_does_not_become_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", "")

    with pytest.raises(ApiError, match="HEADGATE_TOKEN is empty"):
        stored_credential()


@pytest.mark.parametrize(
    ("url", "proxies", "needed"),
    [
        ("http://127.0.0.1:8020/api", {}, False),
        ("https://127.0.0.1:8020/api", {}, True),
        ("HTTP://host", {}, True),
        ("http://host", {"HTTP_PROXY": "https://proxy:1"}, True),
        ("http://host", {"ALL_PROXY": "https://proxy:1"}, True),
    ],
)
def test_certificates_are_loaded_for_every_request_that_may_use_tls(
    monkeypatch: pytest.MonkeyPatch, url: str, proxies: dict[str, str], *, needed: bool
) -> None:
    for name, value in proxies.items():
        monkeypatch.setenv(name, value)

    assert may_use_tls(url) is needed
