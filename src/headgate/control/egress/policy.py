"""The egress policy: what the operator allows each organization, and the decision about one folder, host or address.

Pure: the caller resolves names and passes the addresses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from headgate.control.egress.hosts import HostRule, plain_name
from headgate.control.egress.ip_addresses import Address, is_public, parse_address, plain_address

EGRESS_SETTING = "HEADGATE_EGRESS"
EVERY_HOST = "*"
"""The key of the rules that apply to every organization."""
_LIST = f"to the file that {EGRESS_SETTING} names"


@dataclass(frozen=True, slots=True)
class EgressRules:
    """The places to which one organization may connect: folders with all below them, and hosts with their ports."""

    folders: tuple[PurePosixPath, ...] = ()
    hosts: tuple[HostRule, ...] = ()

    def root(self, folder: PurePosixPath) -> PurePosixPath | None:
        """Return the deepest allowed folder that is the folder or contains it. None if there is none, or the path has `..`."""
        roots = (each for each in self.folders if folder.is_relative_to(each))
        return None if ".." in folder.parts else max(roots, key=lambda each: len(each.parts), default=None)

    def folder_refusal(self, folder: PurePosixPath) -> str:
        """Return the refusal for a folder without an allowed root."""
        return f"the egress policy does not allow connections to the folder `{folder}`; ask the operator to add the folder {_LIST}"

    def host_fault(self, host: str, port: int) -> str | None:
        """Return why a host is not allowed, whatever addresses it resolves to, or None.

        A name that is not listed may still resolve to an address that is.
        """
        address = parse_address(host)
        if address is not None:
            return None if self.select_allowed((address,), "", port) else self._fault(host, port)
        name = plain_name(host)
        if name is None:
            return f"`{host}` is neither a DNS name nor an IP address in its usual form; write, for example, `db.example.org` or `192.0.2.7`"
        rules = [each for each in self.hosts if each.allows_port(port)]
        if any(each.network is not None or each.allows_name(name) for each in rules):
            return None
        return self._fault(host, port)

    def address_refusal(self, host: str, port: int) -> str:
        """Return the refusal for a host that has no allowed address."""
        if self._lists(host, port):
            return (
                f"`{host}` is allowed at port {port}, but resolves to no public address; a private, loopback or link-local "
                f"address is allowed only if its network is listed; ask the operator to add the network {_LIST}"
            )
        return self._fault(host, port)

    def select_allowed(self, addresses: Sequence[Address], host: str, port: int) -> tuple[Address, ...]:
        """Return the allowed addresses of a host.

        An address is allowed if its network is listed, or if it is public and the host's name is listed.
        """
        is_listed = self._lists(host, port)
        plain = map(plain_address, addresses)
        return tuple(each for each in plain if self._lists_address(each, port) or (is_listed and is_public(each)))

    def _lists(self, host: str, port: int) -> bool:
        name = plain_name(host)
        return name is not None and any(each.allows_port(port) and each.allows_name(name) for each in self.hosts)

    def _lists_address(self, address: Address, port: int) -> bool:
        return any(each.allows_port(port) and each.allows_address(address) for each in self.hosts)

    def _fault(self, host: str, port: int) -> str:
        return f"the egress policy does not allow connections to `{host}` at port {port}; ask the operator to add the host and the port {_LIST}"


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The rules of each organization, by its id; those of `*` apply to all. Without rules nothing is allowed.

    The key is not the name, because an owner could rename an organization to the name of another one.
    """

    organizations: Mapping[str, EgressRules] = field(default_factory=dict[str, EgressRules])

    def rules(self, organization: str) -> EgressRules:
        """Return the rules of the organization with this id."""
        found = [self.organizations[each] for each in (EVERY_HOST, organization) if each in self.organizations]
        folders = tuple(folder for each in found for folder in each.folders)
        return EgressRules(folders, tuple(rule for each in found for rule in each.hosts))

    def extend(self, organization: str, rules: EgressRules) -> "EgressPolicy":
        """Return the same policy with more rules for the organization with this id."""
        before = self.organizations.get(organization, EgressRules())
        both = EgressRules((*before.folders, *rules.folders), (*before.hosts, *rules.hosts))
        return EgressPolicy({**self.organizations, organization: both})
