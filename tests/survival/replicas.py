"""Replicas as processes of their own, and what is in the organization that they serve."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from headgate.app.deployment import Deployment
from headgate.control.resources import CreateResource
from headgate.facts.ids import PrincipalId, ResourceId
from tests.app.world import Place
from tests.survival.replica import replica

REPOSITORY = Path(__file__).parents[2]
WITHIN = 30.0
"""Seconds for one answer; generous, because machines are shared."""


@dataclass(frozen=True)
class Replica:
    """A running process and its address."""

    process: subprocess.Popen[str]
    address: str

    def kill(self) -> None:
        """End it as a lost machine ends."""
        self.process.kill()
        self.process.wait()


@contextmanager
def process(folder: Path, store_url: str | None = None) -> Iterator[Replica]:
    """Run a replica for the length of the block; it is killed if it has not ended by itself."""
    given = [str(folder)] if store_url is None else [str(folder), store_url]
    command = [sys.executable, "-m", "tests.survival.replica", *given]
    running = subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with running:
        try:
            assert running.stdout is not None
            address = running.stdout.readline().strip()
            assert address, "the replica did not start; what it said stands above"
            yield Replica(running, address)
        finally:
            running.kill()


@contextmanager
def two(how: str, folder: Path, store_url: str) -> Iterator[list[str]]:
    """Serve one store by two replicas, as `threads` of this process or as `processes`; gives their addresses."""
    with ExitStack() as stack:
        folders = [folder / name for name in ("one", "two")]
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
    """Make users and databases in the home organization, through no door."""
    place = Place(httpx.Client(trust_env=False), deployment.home, "", {})
    owner = next(iter(deployment.control.snapshot.principals))
    return Facts(place.token(owner), tuple(_pair(place, number) for number in range(count)))


def _pair(place: Place, number: int) -> Pair:
    user, resource = f"u{number}", ResourceId(f"d{number}")
    principal = place.add(user)
    facts = place.control.snapshot
    lake = next(each.id for each in facts.resources.values() if each.type == "lake")
    place.control.execute(CreateResource(resource, "database", lake, f"db{number}"), None)
    return Pair(user, principal, place.tokens[user], resource, f"lake.db{number}")
