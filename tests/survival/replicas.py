"""Replicas as processes of their own, and what is in the organization that they serve."""

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
"""Seconds for one answer; generous, because machines are shared."""


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.survival.replica"])
"""So that a replica that is started again and again need not load everything each time."""


@dataclass(frozen=True)
class Replica:
    """A running process and its address."""

    process: BaseProcess
    address: str

    def kill(self) -> None:
        """End it as a lost machine ends."""
        self.process.kill()
        self.process.join()


@contextmanager
def process(folder: Path, store_url: str | None = None) -> Iterator[Replica]:
    """Run a replica for the length of the block; it is killed if it has not ended by itself."""
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
    """Serve one store by two replicas, as `threads` of this process or as `processes`; gives their addresses."""
    with ExitStack() as stack:
        folders = [machine(folder, name) for name in ("one", "two")]
        if how == "threads":
            yield [stack.enter_context(replica(each, store_url)) for each in folders]
        else:
            yield [stack.enter_context(process(each, store_url)).address for each in folders]


@dataclass(frozen=True)
class Pair:
    """A user and a database that may be given to it: whether it is, is what a test changes."""

    user: str
    principal: PrincipalId
    token: str
    resource: ResourceId
    resource_name: str


@dataclass(frozen=True)
class Facts:
    """What is in the organization: its owner's token, and users who hold nothing yet, each with a database."""

    owner: str
    pairs: tuple[Pair, ...]


def facts_in(deployment: Deployment, count: int) -> Facts:
    """Make users and databases in the home organization, through no endpoint."""
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
