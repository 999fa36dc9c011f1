"""The egress decision about one folder, host or address."""

from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest

from headgate.control.egress import Address, EgressPolicy, EgressRules, parse_host_rule
from tests.control.egress.test_ip_addresses import NOT_PUBLIC

PUBLIC = ip_address("93.184.215.14")


def rules(*hosts: str, folders: tuple[str, ...] = ()) -> EgressRules:
    return EgressRules(tuple(map(PurePosixPath, folders)), tuple(map(parse_host_rule, hosts)))


def allowed(found: EgressRules, host: str, *addresses: str | Address, port: int = 443) -> list[str]:
    return [str(each) for each in found.select_allowed([ip_address(str(each)) for each in addresses], host, port)]


class TestNothing:
    def test_an_empty_egress_policy_allows_no_folder_and_no_host(self) -> None:
        found = EgressPolicy().rules("main")

        assert found.root(PurePosixPath("/srv")) is None
        assert found.host_fault("db.example.org", 5432) is not None
        assert found.host_fault("93.184.215.14", 443) is not None
        assert allowed(found, "db.example.org", PUBLIC) == []

    def test_a_refusal_names_the_setting_that_the_operator_must_change(self) -> None:
        assert "HEADGATE_EGRESS" in rules().folder_refusal(PurePosixPath("/srv"))
        assert "HEADGATE_EGRESS" in str(rules().host_fault("db.example.org", 5432))


class TestAFolder:
    @pytest.mark.parametrize("path", ["/srv/acme", "/srv/acme/in", "/srv/acme/in/deep"])
    def test_a_folder_is_allowed_at_and_below_a_root(self, path: str) -> None:
        assert rules(folders=("/srv/acme",)).root(PurePosixPath(path)) is not None

    @pytest.mark.parametrize(
        "path", ["/", "/srv", "/srv/acme2", "/srv/acme/../other", "/srv/acme/in/../../other", "srv/acme"]
    )
    def test_a_folder_outside_the_roots_is_refused(self, path: str) -> None:
        assert rules(folders=("/srv/acme",)).root(PurePosixPath(path)) is None

    def test_a_folder_belongs_to_the_deepest_root(self) -> None:
        found = rules(folders=("/srv", "/srv/acme"))

        assert found.root(PurePosixPath("/srv/acme/in")) == PurePosixPath("/srv/acme")


class TestAListedName:
    @pytest.mark.parametrize("address", NOT_PUBLIC)
    def test_a_listed_name_cannot_resolve_to_an_address_that_is_not_public(self, address: str) -> None:
        found = rules("api.example.org:443", "*.example.net:443")

        for host in ("api.example.org", "API.EXAMPLE.ORG.", "a.example.net"):
            assert allowed(found, host, address) == []
            assert "resolves to no public address" in found.address_refusal(host, 443)

    def test_a_listed_name_may_resolve_to_public_addresses_and_listed_networks(self) -> None:
        found = rules("api.example.org:443", "10.0.0.0/8:443")

        assert allowed(found, "api.example.org", "10.1.2.3", PUBLIC, "192.168.0.1") == ["10.1.2.3", str(PUBLIC)]

    def test_a_listed_name_is_allowed_at_its_port_only(self) -> None:
        found = rules("api.example.org:443")

        assert found.host_fault("api.example.org", 443) is None
        assert found.host_fault("api.example.org", 80) is not None
        assert allowed(found, "api.example.org", PUBLIC, port=80) == []

    @pytest.mark.parametrize("host", ["API.example.ORG", "api.example.org."])
    def test_a_listed_name_in_another_spelling_is_allowed(self, host: str) -> None:
        assert rules("api.example.org:443").host_fault(host, 443) is None


class TestAnotherName:
    def test_an_unlisted_name_may_resolve_to_listed_networks_only(self) -> None:
        found = rules("10.0.0.0/8:443")

        assert found.host_fault("any.example.com", 443) is None
        assert allowed(found, "any.example.com", "10.1.2.3", "127.0.0.1", PUBLIC) == ["10.1.2.3"]


class TestAnAddress:
    @pytest.mark.parametrize("address", NOT_PUBLIC)
    def test_an_address_that_is_not_public_must_be_listed(self, address: str) -> None:
        assert rules("*.example.org:443").host_fault(address, 443) is not None

    def test_a_public_address_must_be_listed(self) -> None:
        assert rules("*.example.org:443").host_fault(str(PUBLIC), 443) is not None
        assert rules(f"{PUBLIC}:443").host_fault(str(PUBLIC), 443) is None

    @pytest.mark.parametrize("host", ["::ffff:10.0.0.1", "[::ffff:10.0.0.1]", "[::ffff:a00:1]"])
    def test_an_ipv4_address_within_ipv6_is_decided_as_the_ipv4_address(self, host: str) -> None:
        assert rules("10.0.0.1:443").host_fault(host, 443) is None
        assert rules("10.0.0.2:443").host_fault(host, 443) is not None

    @pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "\uff1127.0.0.1", "a@b", ""])
    def test_an_address_in_another_spelling_is_refused_before_it_is_resolved(self, host: str) -> None:
        assert rules("127.0.0.0/8:443", "*.org:443").host_fault(host, 443) is not None


class TestAnOrganization:
    def test_an_organization_has_its_own_egress_rules_and_the_common_ones(self) -> None:
        policy = EgressPolicy(
            {"*": rules("a.example.org:1"), "acme": rules("b.example.org:1"), "main": rules("c.example.org:1")}
        )

        found = policy.rules("acme")

        assert [each.name for each in found.hosts] == ["a.example.org", "b.example.org"]
        assert found.host_fault("c.example.org", 1) is not None
