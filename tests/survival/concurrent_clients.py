"""Concurrent clients, and the record of the responses to them, which tests compare with the log and with checks."""

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count

from headgate.control.kernel.ports import Store
from headgate.facts.changes import RoleAssigned, RoleRevoked
from headgate.facts.ids import ResourceId, SubjectId
from tests.survival.client import ROLE, Client
from tests.survival.replicas import Pair


@dataclass
class Told:
    """The record of acknowledged writes: for each revision, the operation and the pair."""

    written: dict[int, tuple[str, str]] = field(default_factory=dict)
    operations: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def acknowledged(self, revision: int, what: str, pair: Pair) -> None:
        """Record a write. Fails if a revision is acknowledged twice."""
        with self.lock:
            assert revision not in self.written, f"revision {revision} was acknowledged twice"
            self.written[revision] = (what, pair.user)


@dataclass
class Truth:
    """The state that the pair's only writer knows.

    `allowed` is whether the user may use the database, or None while that changes; `turn` counts the changes.
    """

    pair: Pair
    turn: int = 0
    allowed: bool | None = False


class Race:
    """A race of clients.

    Some pairs have one writer each, and every write is checked at another replica at once; all clients write to one
    shared pair. Without `others` only the single writers race, so that half of the operations are revokes.
    """

    def __init__(
        self, clients: Sequence[Client], pairs: Sequence[Pair], operations: int, seed: int, *, others: bool = True
    ) -> None:
        self.clients = clients
        self.told = Told()
        self._shared, *own = pairs
        self._truths = [Truth(each) for each in own]
        self._left = iter(range(operations))
        self._lock = threading.Lock()
        self._seed = seed
        self._others = clients if others else ()

    def run(self) -> Told:
        """Race until the number of operations is reached. Raises the first `AssertionError` of any client."""
        work = [
            *((self._own, each) for each in self._truths),
            *((self._look_on, None) for _ in self._others),
            *((self._contend, None) for _ in self._others),
        ]
        with ThreadPoolExecutor(len(work)) as threads:
            done = [
                threads.submit(job, random.Random(self._seed + number), truth)  # noqa: S311 (a fixed seed, to repeat)
                for number, (job, truth) in zip(count(), work, strict=False)
            ]
        for each in done:
            each.result()
        return self.told

    def _more(self) -> bool:
        with self._lock:
            if next(self._left, None) is None:
                return False
            self.told.operations += 1
            return True

    def _own(self, chance: random.Random, truth: Truth) -> None:
        while self._more():
            here, there = chance.sample(self.clients, 2) if len(self.clients) > 1 else [*self.clients] * 2
            what = "take" if truth.allowed else "give"
            allowed, truth.allowed, truth.turn = truth.allowed, None, truth.turn + 1
            answer = (here.take if allowed else here.give)(truth.pair)
            assert answer.is_success, answer.text
            self.told.acknowledged(answer.json()["revision"], what, truth.pair)
            truth.allowed = not allowed
            assert there.may(truth.pair) is truth.allowed, (
                f"a {what} has no effect on the next check at another replica"
            )

    def _look_on(self, chance: random.Random, _: Truth | None) -> None:
        while self._more():
            truth, client = chance.choice(self._truths), chance.choice(self.clients)
            before = (truth.turn, truth.allowed)
            answer = client.may(truth.pair)
            if before[1] is not None and before == (truth.turn, truth.allowed):
                assert answer is before[1], f"{truth.pair.user} got the answer {answer} while nothing changed"

    def _contend(self, chance: random.Random, _: Truth | None) -> None:
        while self._more():
            client, what = chance.choice(self.clients), chance.choice(["give", "take"])
            answer = (client.take if what == "take" else client.give)(self._shared)
            if answer.is_success:
                self.told.acknowledged(answer.json()["revision"], what, self._shared)
            else:
                # The user does not hold the role now, so the revoke has nothing to remove.
                assert (what, answer.status_code) == ("take", 404), answer.text


def in_log(store: Store, pairs: Sequence[Pair], after: int) -> dict[int, tuple[str, str]]:
    """Return the operation and the pair's user of each entry of the log, by revision."""
    users: dict[tuple[SubjectId, ResourceId], str] = {(each.principal, each.resource): each.user for each in pairs}
    found = {}
    for entry in store.entries(after):
        (change,) = entry.changes
        assert isinstance(change, RoleAssigned | RoleRevoked)
        assert change.role == ROLE
        what = "give" if isinstance(change, RoleAssigned) else "take"
        found[entry.revision] = (what, users[change.subject, change.resource])
    return found
