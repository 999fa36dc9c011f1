"""Concurrent sessions of several people, on plain threads with the stock client."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from tests.spark.gateway.concurrency.actions import STEPS, Step
from tests.spark.gateway.concurrency.markers import LeakError, Owner

Connect = Callable[[str], SparkSession]


@dataclass
class Seen:
    """The record of all sessions.

    It has the counts of steps, the errors and leaks, and the sessions that worked after the driver restarted.
    """

    steps: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    recovered: set[str] = field(default_factory=set)

    def report(self) -> str:
        """Return the counts in one line."""
        steps = ", ".join(f"{name} {count}" for name, count in sorted(self.steps.items()))
        return f"{self.steps.total()} steps ({steps}), {len(self.errors)} errors, {len(self.leaks)} leaks"


class ConcurrentClients:
    """Sessions of people; each works until its time is over or a session has seen data of another session."""

    def __init__(
        self, connect: Connect, people: Sequence[str], sessions: int, seed: int, steps: Sequence[Step] = STEPS
    ) -> None:
        self._connect = connect
        self._people = people
        self._owners = [Owner(people[number % len(people)], f"s{number}") for number in range(sessions)]
        self._seed = seed
        self._steps = steps
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.disturbed = threading.Event()
        """Set while the driver may be away: errors are not failures, and the session reconnects."""
        self.back = threading.Event()
        """Set when the driver serves again."""
        self.seen = Seen()

    def work(self, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> Seen:
        """Run all sessions for some seconds and call `meanwhile` at the same time.

        Return the record of the sessions.
        """
        until = time.monotonic() + seconds
        firsts = itertools.cycle(self._steps)
        threads = [
            threading.Thread(target=self._session, args=(owner, first, until))
            for owner, first in zip(self._owners, firsts, strict=False)
        ]
        for thread in threads:
            thread.start()
        meanwhile()
        for thread in threads:
            thread.join()
        return self.seen

    def _session(self, owner: Owner, step: Step, until: float) -> None:
        dice = random.Random(f"{self._seed} {owner.mark}")  # noqa: S311 - nothing secret
        spark = self._connect(owner.person)
        while time.monotonic() < until and not self._over.is_set():
            if not self._step(step, spark, owner, dice):
                spark.client.close()
                spark = self._begin_anew(owner, until)
            step = dice.choice(self._steps)
        spark.stop()

    def _step(self, step: Step, spark: SparkSession, owner: Owner, dice: random.Random) -> bool:
        """Do one step; return whether the session can continue."""
        other = dice.choice([person for person in self._people if person != owner.person])
        disturbed = self.disturbed.is_set()
        try:
            owner.require_own(step(spark, owner, other))
        except LeakError as leak:
            self._note(step, leak=str(leak))
            self._over.set()
        except Exception as error:  # noqa: BLE001 - every error is recorded, and fails the test unless the driver was away
            self._note(step, error=f"{step.__name__}: {error}")
            self._require_own(owner, error)
            if not (disturbed or self.disturbed.is_set()):
                self._over.set()
            return False
        else:
            self._note(step, worked=owner)
        return True

    def _begin_anew(self, owner: Owner, until: float) -> SparkSession:
        """Reconnect until a statement works."""
        while True:
            spark = self._connect(owner.person)
            try:
                spark.range(1).collect()
            except PySparkException as error:
                self._require_own(owner, error)
                spark.client.close()
                if time.monotonic() > until:
                    return self._connect(owner.person)
                time.sleep(0.5)
            else:
                return spark

    def _require_own(self, owner: Owner, error: Exception) -> None:
        try:
            owner.require_own(error)
        except LeakError as leak:
            with self._lock:
                self.seen.leaks.append(str(leak))
            self._over.set()

    def _note(
        self, step: Step, *, worked: Owner | None = None, leak: str | None = None, error: str | None = None
    ) -> None:
        with self._lock:
            self.seen.steps[step.__name__] += 1
            if worked and self.back.is_set():
                self.seen.recovered.add(worked.mark)
            if leak:
                self.seen.leaks.append(f"{step.__name__}: {leak}")
            if error:
                self.seen.errors.append(error[:500])
