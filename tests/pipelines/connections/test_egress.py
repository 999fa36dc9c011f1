"""Egress of connections: the rules are checked against the addresses that a name has at that moment."""

import socket
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path, PurePosixPath

import pytest

from headgate.control.egress import Address, EgressRules, parse_host_rule
from headgate.pipelines.connections.egress import Egress, EgressError, StoreServer, host_and_port, is_own, resolve_host
from headgate.pipelines.connections.server_files import ServerFiles

PUBLIC = "93.184.215.14"


class Names:
    """A resolver with given answers for each name, one after the other; the last one stays."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self._answers = {name.replace("_", "."): list(found) for name, found in answers.items()}
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> Sequence[Address]:
        self.asked.append(host)
        left = self._answers[host]
        return (ip_address(left.pop(0) if len(left) > 1 else left[0]),)


def egress(names: Names, *hosts: str, store: StoreServer | None = None) -> Egress:
    rules = EgressRules(hosts=tuple(map(parse_host_rule, hosts)))
    return Egress(rules, store=store or StoreServer(), resolve=names)


class TestAName:
    def test_a_name_that_resolves_to_a_private_address_later_is_refused(self) -> None:
        found = egress(Names(api_example_org=(PUBLIC, "127.0.0.1")), "api.example.org:443")

        assert [str(each) for each in found.addresses("api.example.org", 443)] == [PUBLIC]
        with pytest.raises(EgressError, match="private, loopback or link-local"):
            found.addresses("api.example.org", 443)

    @pytest.mark.parametrize(
        "host", ["evil.example.com", "2130706433", "0x7f.1", "127.0.0.1", "[::1]", "169.254.169.254"]
    )
    def test_a_name_that_is_not_listed_is_refused_before_it_is_resolved(self, host: str) -> None:
        names = Names()

        with pytest.raises(EgressError, match=r"HEADGATE_EGRESS|usual form"):
            egress(names, "api.example.org:443").addresses(host, 443)

        assert names.asked == []

    def test_a_refusal_of_a_private_host_names_the_setting_to_change(self) -> None:
        found = egress(Names(inside_example_org=("10.1.2.3",)), "*.example.org:5432")

        fault = found.fault({"kind": "postgresql", "host": "inside.example.org", "port": 5432})

        assert fault is not None
        assert "HEADGATE_EGRESS" in fault

    def test_a_name_without_an_address_can_be_declared_but_not_connected(self) -> None:
        def fails(*_: object) -> Sequence[Address]:
            raise OSError("no address")

        rules = EgressRules(hosts=(parse_host_rule("db.example.org:5432"),))
        found = Egress(rules, resolve=fails)

        assert found.fault({"kind": "postgresql", "host": "db.example.org", "port": 5432}) is None
        with pytest.raises(OSError, match="no address"):
            found.addresses("db.example.org", 5432)


class TestTheStore:
    def test_the_stores_address_is_refused_although_its_network_is_listed(self) -> None:
        names = Names(db_internal=("10.0.0.5",), alias_internal=("10.0.0.5",))
        found = egress(names, "10.0.0.0/8:5432", store=StoreServer((("db.internal", 5432),)))

        for host in ("db.internal", "alias.internal", "10.0.0.5", "::ffff:10.0.0.5"):
            with pytest.raises(EgressError, match="Headgate's own store"):
                found.addresses(host, 5432)

    @pytest.mark.parametrize("store", ["127.0.0.1", "", "::1"])
    def test_a_store_on_this_machine_is_refused_under_every_local_address(self, store: str) -> None:
        names = Names(**{"127_0_0_1": ("127.0.0.1",), "::1": ("::1",)})
        found = egress(names, "127.0.0.0/8:*", "[::1]:*", store=StoreServer(((store, 5432),)))

        for host in ("127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"):
            with pytest.raises(EgressError, match="Headgate's own store"):
                found.addresses(host, 5432)
        assert found.addresses("127.0.0.1", 5433)


class TestAFolder:
    def test_a_folder_of_the_server_is_refused(self, tmp_path: Path) -> None:
        own = tmp_path / "data"
        own.mkdir()
        (tmp_path / "link").symlink_to(own)
        found = Egress(EgressRules((PurePosixPath(tmp_path),)), ServerFiles((own,)))

        for folder in (own, own / "keys", tmp_path / "link"):
            assert found.fault({"kind": "folder", "folder": str(folder)}) is not None
        assert found.fault({"kind": "folder", "folder": str(tmp_path)}) is None


def test_an_address_of_this_machine_is_recognized() -> None:
    assert is_own(ip_address("127.9.9.9"))
    assert is_own(ip_address("0.0.0.0"))  # noqa: S104 (nothing listens there)
    assert not is_own(ip_address(PUBLIC))


def test_an_ipv4_address_is_resolved_to_its_plain_form() -> None:
    assert resolve_host("127.0.0.1", 80) == (ip_address("127.0.0.1"),)
    assert resolve_host("2130706433", 80) == (ip_address("127.0.0.1"),)
    with pytest.raises(socket.gaierror):
        resolve_host("no-such-host.invalid", 80)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://API.example.org/v1", ("api.example.org", 443)),
        ("http://[::1]:8080", ("::1", 8080)),
        ("http://127.0.0.1", ("127.0.0.1", 80)),
        ("https://user@evil.org:1/", ("evil.org", 1)),
    ],
)
def test_a_url_has_a_host_and_a_port(url: str, found: tuple[str, int]) -> None:
    assert host_and_port(url) == found
