"""Which IP addresses are public, and the canonical form of each address."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.egress import is_public, plain_address
from headgate.control.egress.ip_addresses import parse_address

NOT_PUBLIC = [
    "0.0.0.0",  # noqa: S104 (nothing is bound)
    "0.1.2.3", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "100::1", "2001::1", "2001:db8::1",
    "2002:7f00:1::", "3fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%lo", "fec0::1", "ff02::1", "ff0e::1",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_a_special_address_is_not_public(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize(
    "text", ["1.1.1.1", "8.8.8.8", "93.184.215.14", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1"]
)
def test_an_address_of_the_internet_is_public(text: str) -> None:
    assert is_public(ip_address(text))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_within_ipv6_is_as_public_as_the_address(address: object) -> None:
    plain = ip_address(str(address))

    assert is_public(ip_address(f"::ffff:{plain}")) == is_public(plain)
    assert plain_address(ip_address(f"::ffff:{plain}")) == plain


@pytest.mark.parametrize(
    "text",
    ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "localhost", "[::1", "1.2.3", "\uff11.1.1.1", ""],
)
def test_an_address_in_another_spelling_is_not_parsed(text: str) -> None:
    assert parse_address(text) is None
