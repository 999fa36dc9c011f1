"""The targets of connections: parts that name a place and cannot contain anything else."""

from dataclasses import replace

import pytest

from headgate.control.connections.commands import RESERVED_HEADERS, Folder, Http, PostgreSql, secret_of
from headgate.control.kernel.errors import InvalidError

SHOP = PostgreSql("db.example.org", 5432, "shop", "headgate")


@pytest.mark.parametrize("host", ["localhost", "db-1.example.org", "10.0.0.7", "::1", "2001:db8::7", "a"])
def test_a_database_connection_accepts_a_host_name_or_address(host: str) -> None:
    assert replace(SHOP, host=host).document()["host"] == host


@pytest.mark.parametrize(
    "fields",
    [
        {"host": ""},
        {"host": "db/x"},
        {"host": "db?socketFactory=x"},
        {"host": "db:1,other"},
        {"host": "db@other"},
        {"host": "-db"},
        {"host": "fe80::1%eth0"},
        {"host": "a" * 254},
        {"port": 0},
        {"port": 65536},
        {"database": ""},
        {"database": "shop?socketFactory=x"},
        {"database": "shop&ssl=false"},
        {"database": "a/b"},
        {"database": "a b"},
        {"user": ""},
        {"user": "a\0b"},
        {"sslmode": "maybe"},
    ],
    ids=str,
)
def test_a_database_connection_with_an_invalid_part_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(InvalidError):
        replace(SHOP, **fields).document()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("url", ["http://localhost:8080", "https://api.example.org/v1/", "https://[::1]:8443/x"])
def test_an_http_connection_accepts_a_base_url(url: str) -> None:
    assert Http(url).document() == {"kind": "http", "base_url": url}


@pytest.mark.parametrize(
    "url",
    ["", "api.example.org", "ftp://example.org", "file:///etc/passwd", "https://", "https://me:secret@example.org", "https://example.org?x=1",
     "https://example.org#x", "https://example.org/?", "https://example.org/a/../b", "https://example.org/%2e%2e/x",
     "https://example.org/a/%252E./b", "https://example.org/..%2fx", "https://example.org/..;/x", "https://exa mple.org", "https://example.org:99999",
     "https://example.org\\@other", "https://example.org/\r\nX: y", "https://exämple.org", "https://[::1", "https://example.org:x"],
)  # fmt: skip
def test_any_other_text_is_refused_as_a_base_url(url: str) -> None:
    with pytest.raises(InvalidError):
        Http(url).document()


def test_a_folder_connection_requires_an_absolute_path() -> None:
    assert Folder("/data").document() == {"kind": "folder", "folder": "/data"}
    for path in ("data", "", "/a\0b"):
        with pytest.raises(InvalidError):
            Folder(path).document()


def test_each_kind_of_connection_has_its_own_form_of_secret() -> None:
    assert secret_of("postgresql", "x", None) == {"password": "x"}
    assert secret_of("http", None, {"Authorization": "Bearer x"}) == {"Authorization": "Bearer x"}
    assert secret_of("folder", None, None) == {}
    for kind, password, headers in (("folder", "x", None), ("http", "x", None), ("postgresql", None, {})):
        with pytest.raises(InvalidError):
            secret_of(kind, password, headers)


@pytest.mark.parametrize("name", sorted(RESERVED_HEADERS))
def test_a_header_of_the_transport_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(InvalidError, match="because Headgate sets it for the transport of requests; leave it out"):
        secret_of("http", None, {name.title(): "x"})


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "X-Api-Key", "Accept", "User-Agent"])
def test_a_header_of_the_api_is_accepted_as_a_secret(name: str) -> None:
    assert secret_of("http", None, {name: "a b"}) == {name: "a b"}


@pytest.mark.parametrize(
    "headers",
    [{"Host": "other"}, {"content-length": "1"}, {"Transfer-Encoding": "chunked"}, {"X: y\r\nZ": "1"}, {"X": "a\r\nY: b"}, {"": "x"}, {"X": "a "}, {"X": "\ta"}],
    ids=str,
)  # fmt: skip
def test_a_header_of_several_lines_or_of_the_transport_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidError):
        secret_of("http", None, headers)
