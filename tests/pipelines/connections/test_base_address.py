"""Which addresses are below a connection's base address."""

import pytest

from headgate.pipelines.connections.base_address import is_below
from headgate.pipelines.load_errors import LoadError

BASE = "https://api.example.org/v1/tenant"


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("https://api.example.org/v1/tenant/rows?a=b", "https://api.example.org/v1/tenant/rows?a=b"),
        ("https://API.example.org:443/v1/tenant", "https://api.example.org/v1/tenant"),
        ("/v1/tenant/rows", "https://api.example.org/v1/tenant/rows"),
        ("?page=2", "https://api.example.org/v1/tenant/rows?page=2"),
        ("more", "https://api.example.org/v1/tenant/more"),
        ("/v1/%74enant/rows", "https://api.example.org/v1/%74enant/rows"),
        ("/v1/tenant/a/../b?x=../..", "https://api.example.org/v1/tenant/b?x=../.."),
    ],
)
def test_a_reference_below_the_base_is_followed(reference: str, found: str) -> None:
    assert str(is_below(BASE, reference, f"{BASE}/rows")) == found


@pytest.mark.parametrize(
    "reference",
    [
        "/other/admin",
        "/v1/tenant2/rows",
        "/v1",
        "/v1/tenant/../../admin",
        "/v1/tenant/%2e%2e/admin",
        "/v1/tenant/%252E%252e/admin",
        "/v1/tenant/%25252525252e%25252525252e/admin",
        "/v1/tenant/..%2fadmin",
        "/v1/tenant/..%5cadmin",
        "/v1/tenant/..;/admin",
        "/v1/tenant\\..\\..\\admin",
        "/v1%2ftenant/rows",
        "http://api.example.org/v1/tenant/rows",
        "https://api.example.org:8443/v1/tenant/rows",
        "https://api.example.org.evil.example/v1/tenant/rows",
        "https://evil.example/v1/tenant/rows",
        "//evil.example/v1/tenant/rows",
        "https://api.example.org@evil.example/v1/tenant/rows",
        "https://api.example.org\\@evil.example/v1/tenant/rows",
        "https://evil.example#@api.example.org/v1/tenant/rows",
        "file:///v1/tenant/rows",
    ],
)
def test_a_reference_outside_the_base_is_refused(reference: str) -> None:
    with pytest.raises(LoadError, match=r"outside the address of the connection|has a user name"):
        is_below(BASE, reference)


@pytest.mark.parametrize(
    "reference",
    [
        "http://[",
        "http://[::1",
        "https://api.example.org:port/",
        "https://\ud800.example/",
        "/v1/tenant/\ud800",
        "/v1/tenant/a\x00b",
        "/v1/tenant/" + "a" * 70_000,
    ],
    ids=["bracket", "address", "port", "half host", "half path", "control", "long"],
)  # fmt: skip
def test_an_address_that_cannot_be_parsed_is_refused(reference: str) -> None:
    with pytest.raises(LoadError):
        is_below(BASE, reference)


@pytest.mark.parametrize("host", ["[", "xn--a.example", "a..example", "127.0.0.1:99999999"])
def test_a_host_that_cannot_be_parsed_is_refused_with_the_same_error(host: str) -> None:
    with pytest.raises(LoadError):
        is_below(BASE, f"https://{host}/v1/tenant/rows")


def test_a_base_address_with_parent_segments_allows_no_reference() -> None:
    base = "https://api.example.org/v1/%2e%2e/admin"

    with pytest.raises(LoadError):
        is_below(base, f"{base}/rows")


def test_a_base_address_without_a_path_allows_every_path_of_its_host() -> None:
    assert str(is_below("http://[::1]:8080", "/rows")) == "http://[::1]:8080/rows"


@pytest.mark.parametrize("user", ["me", "me:secret"])
def test_a_reference_with_a_user_name_is_refused(user: str) -> None:
    with pytest.raises(LoadError, match="has a user name"):
        is_below(BASE, f"https://{user}@api.example.org/v1/tenant/rows")
