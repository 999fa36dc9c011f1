"""Cookies: the server reads its own cookies unchanged, and ignores all others."""

from pathlib import Path

import pytest
from fastapi import Request

import headgate
from headgate.endpoints.common.cookies import in_cookie

SECRET = "hgs.s_0f.a-b_c"  # noqa: S105 (a test secret)
SOURCES = Path(headgate.__file__).parent


def request(*cookies: str, scheme: str = "http") -> Request:
    headers = [(b"cookie", each.encode("latin-1")) for each in cookies]
    return Request({"type": "http", "scheme": scheme, "path": "/", "server": ("h", 80), "headers": headers})


@pytest.mark.parametrize(
    "cookies",
    [
        (f"headgate={SECRET}",),
        (f"other=1; headgate={SECRET}; another=2",),
        (f"other=1;headgate={SECRET}",),
        ("other=1", f"headgate={SECRET}"),
        (f'other="\\"; headgate={SECRET}',),
        (f"headgate2=x; xheadgate=y; headgate={SECRET}",),
    ],
)
def test_the_secret_of_a_session_is_found_among_other_cookies(cookies: tuple[str, ...]) -> None:
    assert in_cookie(request(*cookies)) == SECRET


@pytest.mark.parametrize(
    "cookies",
    [
        (),
        ("headgate=",),
        ("headgate",),
        (f'headgate="{SECRET}"',),
        ('headgate="' + "\\" * 30_000 + '"',),
        (f"headgate={SECRET}\xe9",),
        (f"headgate={SECRET}; headgate=hgs.other",),
        (f"headgate={SECRET}", "headgate=hgs.other"),
        (f"Headgate={SECRET}",),
    ],
)
def test_a_malformed_or_repeated_session_cookie_is_no_session(cookies: tuple[str, ...]) -> None:
    assert in_cookie(request(*cookies)) is None


def test_the_cookie_bound_to_the_host_is_the_only_one_read_under_tls() -> None:
    assert in_cookie(request(f"headgate={SECRET}", scheme="https")) is None
    assert in_cookie(request(f"__Host-headgate={SECRET}", scheme="https")) == SECRET


def test_no_module_reads_cookies_with_the_standard_library() -> None:
    """It decodes escapes in time quadratic in their number, and would block the event loop."""
    readers = [
        file
        for file in SOURCES.rglob("*.py")
        if any(
            each in file.read_text()
            for each in (".cookies.get(", ".cookies[", "cookie_parser", "SimpleCookie", "http.cookies")
        )
    ]

    assert readers == []
