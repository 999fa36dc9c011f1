"""Rules for hosts: their syntax, the hosts that they allow, and messages about faults."""

from ipaddress import ip_address

import pytest

from headgate.control.egress import parse_host_rule
from headgate.control.egress.hosts import plain_name


@pytest.mark.parametrize(
    ("rule", "name", "port", "is_listed"),
    [
        ("db.example.org:5432", "db.example.org", 5432, True),
        ("DB.Example.org.:5432", "db.example.org", 5432, True),
        ("db.example.org:5432", "db.example.org", 5433, False),
        ("db.example.org:*", "db.example.org", 1, True),
        ("db.example.org:5432", "x.db.example.org", 5432, False),
        ("db.example.org:5432", "xdb.example.org", 5432, False),
        ("*.example.org:443", "a.example.org", 443, True),
        ("*.example.org:443", "a.b.example.org", 443, True),
        ("*.example.org:443", "example.org", 443, False),
        ("*.example.org:443", "badexample.org", 443, False),
        ("*.example.org:443", "example.org.bad.net", 443, False),
    ],
)
def test_a_host_rule_lists_a_name_at_its_port(rule: str, name: str, port: int, *, is_listed: bool) -> None:
    found = parse_host_rule(rule)

    assert (found.allows_name(name) and found.allows_port(port)) is is_listed


@pytest.mark.parametrize(
    ("rule", "address", "is_listed"),
    [
        ("10.0.0.0/8:5432", "10.255.0.1", True),
        ("10.0.0.0/8:5432", "11.0.0.1", False),
        ("10.0.0.1:5432", "10.0.0.1", True),
        ("[fd00::/8]:5432", "fd12::1", True),
        ("[::1]:5432", "::1", True),
        ("0.0.0.0/0:5432", "::1", False),
    ],
)
def test_a_host_rule_lists_the_addresses_of_its_network(rule: str, address: str, *, is_listed: bool) -> None:
    assert parse_host_rule(rule).allows_address(ip_address(address)) is is_listed


@pytest.mark.parametrize(
    "text",
    ["", ":", "db.example.org", "db.example.org:", "db.example.org:0", "db.example.org:65536", "db.example.org:x", ":5432",
     "*:5432", "a.*.org:1", "*a.org:1", "10.0.0.1/8:5432", "fd00::1:5432", "[10.0.0.1]:1", "[db.example.org]:1", "127.1:80",
     "0x7f.0.0.1:80", "user@db.example.org:1", "http://a.org:80", "[::ffff:10.0.0.1]:1", "bücher.example:1", "a b.org:1",
     "db.example.org:٣"],
)  # fmt: skip
def test_an_invalid_host_rule_is_refused_with_the_correction(text: str) -> None:
    with pytest.raises(ValueError, match=r"write|use a number"):
        parse_host_rule(text)


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "a..b", "-a.org", "bücher.org", "a/b"]
)
def test_a_number_or_an_invalid_text_is_no_host_name(host: str) -> None:
    assert plain_name(host) is None
