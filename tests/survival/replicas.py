"""Replicas as separate processes, and the test data of the organization that they serve."""

import multiprocessing
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path

import httpx

from headgate.app.deployment import Deployment
from headgate.control.resources.commands import CreateResource
from headgate.facts.ids import PrincipalId, ResourceId
from tests.app.deployment_harness import OrganizationClient
from tests.survival.replica import machine, replica, serve

WITHIN = 30.0
"""Seconds until one answer; generous, because machines are shared."""


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.survival.replica"])
"""The fork server loads the modules once, so that repeated starts of a replica are fast."""


@dataclass(frozen=True)
class Replica:
    """A running process and its address."""

    process: BaseProcess
    address: str

    def kill(self) -> None:
        """Kill the process, as when its machine is lost."""
        self.process.kill()
        self.process.join()


@contextmanager
def process(folder: Path, store_url: str | None = None) -> Iterator[Replica]:
    """Run a replica until the block ends; then kill it if it still runs."""
    here, there = _FORKS.Pipe()
    running = _FORKS.Process(target=serve, args=(folder, store_url, there), daemon=True)
    running.start()
    there.close()
    found = Replica(running, "")
    try:
        yield replace(found, address=here.recv())
    finally:
        found.kill()
        here.close()


@contextmanager
def two(how: str, folder: Path, store_url: str) -> Iterator[list[str]]:
    """Serve one store by two replicas, as `threads` of this process or as `processes`; yields their addresses."""
    with ExitStack() as stack:
        folders = [machine(folder, name) for name in ("one", "two")]
        if how == "threads":
            yield [stack.enter_context(replica(each, store_url)) for each in folders]
        else:
            yield [stack.enter_context(process(each, store_url)).address for each in folders]


@dataclass(frozen=True)
class Pair:
    """A user and a database; tests assign and revoke the user's role on the database."""

    user: str
    principal: PrincipalId
    token: str
    resource: ResourceId
    resource_name: str


@dataclass(frozen=True)
class Facts:
    """The test data of the organization: its owner's token, and users without roles, each with a database."""

    owner: str
    pairs: tuple[Pair, ...]


def facts_in(deployment: Deployment, count: int) -> Facts:
    """Create users and databases in the home organization, without using an endpoint."""
    place = OrganizationClient(httpx.Client(trust_env=False, timeout=30), deployment.home, "", {})
    owner = next(iter(deployment.home.control.snapshot.principals))
    return Facts(place.token(owner), tuple(_pair(place, number) for number in range(count)))


def _pair(place: OrganizationClient, number: int) -> Pair:
    user, resource = f"u{number}", ResourceId(f"d{number}")
    principal = place.add(user)
    facts = place.control.snapshot
    lake = next(each.id for each in facts.resources.values() if each.type == "lake")
    place.control.execute(CreateResource(resource, "database", lake, f"db{number}"), None)
    return Pair(user, principal, place.tokens[user], resource, f"lake.db{number}")
