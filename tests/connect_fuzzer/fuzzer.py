"""The fuzzer: sends mutants to a server and checks their effects.

It records every finding by kind, and reproduces the findings at the end.
"""

import itertools
import re
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import grpc
from google.protobuf.message import Message
from typing_extensions import override

from headgate.spark.gateway.rpcs import EXECUTE_PLAN, RELEASE_SESSION
from tests.connect_fuzzer.canaries import Canaries
from tests.connect_fuzzer.health import Health, Running
from tests.connect_fuzzer.mutation import Mutant, regression, shrink_candidates
from tests.connect_fuzzer.scene import Trouble
from tests.spark.gateway.hostile_client import Answer, RawClient, bearer

WORKERS: Final = 4
_CALL_SECONDS: Final = 10.0
_PER_SESSION: Final = 32
"""The number of mutants that a worker sends before it begins another session."""
_LOOK_EVERY: Final = 100
"""The number of mutants between two checks of the processes; the canaries are checked after each mutant."""
_SUSPECTS: Final = 8
"""The number of last mutants of each worker that are suspected if a process has ended."""
_TRIES: Final = 60
"""The maximum number of requests that are tried to shrink one finding."""
_RAISED: Final = re.compile(r"<class '([\w.]+)'>")


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits and waiting times of the fuzzer, in seconds."""

    end: float = 60.0
    """Within which all operations of mutants must end after their sessions are closed."""
    idle: float = 3.0
    """During which the driver's use of processors is measured."""
    replay: float = 240.0
    """The maximum time for reproducing and shrinking the findings."""
    settle: float = 1.0
    """Between sending a mutant again and the check of its effect."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, and the mutant that caused it, if it is known."""

    kind: str
    mutant: Mutant | None = None
    detail: str = ""


@dataclass
class Report:
    """The counts and the findings of a fuzzing run."""

    sent: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    served: Counter[str] = field(default_factory=Counter)
    """The number of mutants of each call that Spark executed."""
    findings: list[Finding] = field(default_factory=list)

    @override
    def __str__(self) -> str:
        """Return the summary line."""
        kinds = Counter(each.kind for each in self.findings)
        codes = ", ".join(f"{number} {code}" for code, number in self.codes.most_common(4))
        return f"{self.sent} mutants ({codes}), {len(self.findings)} findings of {len(kinds)} kinds"

    def described(self) -> str:
        """Return each kind with the number of its findings and its first finding."""
        kinds = Counter(each.kind for each in self.findings)
        first = {each.kind: each for each in reversed(self.findings)}
        return "\n\n".join(f"{number} times: {kind}\n{_shown(first[kind])}" for kind, number in kinds.most_common())


def _shown(finding: Finding) -> str:
    if finding.mutant is None:
        return finding.detail
    return f"{finding.detail}\nmutant {finding.mutant.number}; its line:\n{regression(finding.mutant)}"[:8000]


PATIENCE: Final = Patience()


class Sender(Protocol):
    """Sends mutants as one user."""

    def send(self, mutant: Mutant) -> Answer:
        """Send a mutant in a session."""
        ...

    def renew(self) -> None:
        """End the operations of the session, and begin another session."""
        ...

    def close(self) -> None:
        """End the sessions and the connection."""
        ...


class OtherWork(Protocol):
    """The work of another user, which runs concurrently with the mutants."""

    rounds: int
    """The number of completed rounds."""
    troubles: list[Trouble]

    def stop(self) -> None:
        """Stop the work."""
        ...


class Attacker:
    """A user without a privilege on the marked rows."""

    def __init__(self, port: int, token: str) -> None:
        self._client = RawClient(f"127.0.0.1:{port}", bearer(token))
        self._begin_session()

    def send(self, mutant: Mutant) -> Answer:
        """Send a mutant in this session and for the last operation, unless the mutant names others."""
        if named := getattr(mutant.parsed(), "session_id", ""):
            self._named.add(named)
        # In protobuf, later fields override earlier ones, so the ids in the mutant override this prefix.
        first = mutant.rpc.request(session_id=self._session)
        if mutant.rpc is EXECUTE_PLAN:
            self._operation = str(uuid.uuid4())
        if "operation_id" in first.DESCRIPTOR.fields_by_name:
            first.operation_id = self._operation
        prefix = first.SerializeToString()
        requests = [prefix + each for each in (mutant.data, *mutant.more)]
        return self._client.send(mutant.rpc.name, requests, seconds=_CALL_SECONDS)

    def renew(self) -> None:
        """Release every session that a mutant named, and begin another."""
        for each in (self._session, *self._named):
            request = RELEASE_SESSION.request(session_id=each).SerializeToString()
            self._client.send(RELEASE_SESSION.name, [request], seconds=_CALL_SECONDS)
        self._begin_session()

    def _begin_session(self) -> None:
        self._session, self._operation = str(uuid.uuid4()), str(uuid.uuid4())
        self._named = set[str]()

    def close(self) -> None:
        """End the sessions and the connection."""
        self.renew()
        self._client.close()


class Oracle:
    """Detects faults in answers. `secrets` are bytes that no answer may contain, each with its description."""

    def __init__(self, secrets: Mapping[bytes, str]) -> None:
        self._secrets = secrets

    def fault(self, answer: Answer) -> str:
        """Return the kind of the finding, or an empty text."""
        text = answer.text or ""
        parts = (text.encode(), answer.rich, *answer.messages)
        for secret, name in self._secrets.items():
            if any(secret in each or secret in each.lower() for each in parts):
                return f"an answer has {name}"
        if answer.code is grpc.StatusCode.UNKNOWN and "Unexpected" in text:
            raised = _RAISED.search(text)
            return f"the gateway answers with an unexpected {raised[1] if raised else 'exception'}"
        return ""


class Fuzzer:
    """Sends the mutants of some numbers from several concurrent workers."""

    def __init__(
        self,
        server: Running,
        attackers: Callable[[], Sequence[Sender]],
        oracle: Oracle,
        canaries: Canaries,
        log: Callable[[str], None],
        work: OtherWork,
        patience: Patience = PATIENCE,
    ) -> None:
        """Create the fuzzer.

        `attackers` creates the attackers of one worker; a mutant's number selects the one that sends it. `work` is the
        other user's work.
        """
        self._server = server
        self._make_attackers = attackers
        self._oracle = oracle
        self._canaries = canaries
        self._log = log
        self._other = work
        self._lock = threading.Lock()
        self._recent = [deque[Mutant](maxlen=_SUSPECTS) for _ in range(WORKERS)]
        self._suspects = dict[str, tuple[Mutant, ...]]()
        self._replay_until = 0.0
        self._patience = patience
        self._health = Health(server)
        self.report = Report()

    def run(self, mutants: Iterable[Mutant]) -> Report:
        """Send all mutants, wait until all their operations have ended, and return the findings, shrunk."""
        self._canaries.touched()
        rounds = self._other.rounds
        waiting = iter(mutants)
        threads = [threading.Thread(target=self._work, args=(worker, waiting)) for worker in range(WORKERS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self._server.until_ready()
        self._check_health()
        self._check_other(rounds)
        self._require_end()
        self._replay_until = time.monotonic() + self._patience.replay
        for kind, suspects in self._suspects.items():
            self._find(kind, suspects)
        self.report.findings = [self._made_smaller(each) for each in self.report.findings]
        return self.report

    def _work(self, worker: int, waiting: Iterator[Mutant]) -> None:
        attackers = self._make_attackers()
        for turn in itertools.count(1):
            with self._lock:
                mutant = next(waiting, None)
                if mutant is None:
                    break
                self._recent[worker].append(mutant)
            answer = attackers[mutant.number % len(attackers)].send(mutant)
            self._note(mutant, answer)
            if turn % _PER_SESSION == 0:
                for each in attackers:
                    each.renew()
        for each in attackers:
            each.close()

    def _note(self, mutant: Mutant, answer: Answer) -> None:
        fault = self._oracle.fault(answer)
        with self._lock:
            report = self.report
            report.sent += 1
            report.codes[answer.code.name] += 1
            report.served[mutant.rpc.name] += answer.code is grpc.StatusCode.OK
            if fault:
                self._add(Finding(fault, mutant, answer.text[:1000]))
            for each in sorted(self._canaries.touched()):
                self._suspect(_touched(each))
            if report.sent % _LOOK_EVERY == 0 or answer.code is grpc.StatusCode.UNAVAILABLE:
                self._check_health()
            if report.sent % 1000 == 0:
                self._log(str(report))

    def _add(self, finding: Finding) -> None:
        """Record a finding. The first of its kind is printed at once, in case the run does not end."""
        if all(each.kind != finding.kind for each in self.report.findings):
            self._log(f"{finding.kind}\n{_shown(finding)}")
        self.report.findings.append(finding)

    def _check_health(self) -> None:
        """Check whether a process ended or hung, and wait for processes that restart."""
        for name in self._health.look():
            self._suspect(_rose(name))

    def _check_other(self, rounds: int) -> None:
        """Stop the other user's work, and add a finding for each of its errors.

        Errors during an outage are left out, because the outage itself is a finding.
        """
        self._other.stop()
        troubles = [each.text for each in self._other.troubles if not self._is_of_outage(each)]
        if self._other.rounds == rounds:
            troubles.append("no round was done meanwhile")
        for each in troubles:
            self._add(Finding("the other user's work failed", None, each))

    def _is_of_outage(self, trouble: Trouble) -> bool:
        return trouble.may_be_of_outage and self._health.had_outage(trouble.began, trouble.ended)

    def _suspect(self, kind: str) -> None:
        suspects = tuple(each for recent in self._recent for each in recent)
        self._log(f"{kind}; one of mutants {sorted(each.number for each in suspects)}")
        self._suspects.setdefault(kind, suspects)
        self._server.until_ready()

    def _require_end(self) -> None:
        """Add a finding unless all operations in the driver end in time."""
        if going_on := self._health.until_idle(self._patience.end, self._patience.idle):
            self._add(Finding("a statement goes on", None, going_on))

    def _find(self, kind: str, suspects: Sequence[Mutant]) -> None:
        """Send the suspects again, one by one, until the same fault happens."""
        for mutant in reversed(suspects):
            if time.monotonic() < self._replay_until and kind in self._replay(mutant):
                self._add(Finding(kind, mutant))
                return
        numbers = sorted(each.number for each in suspects)
        self._add(Finding(kind, None, f"not seen again with any of {numbers} alone"))

    def _replay(self, mutant: Mutant) -> set[str]:
        """Send a mutant in a new session, and return the faults that follow."""
        self._server.until_ready()
        attackers = self._make_attackers()
        before, _ = self._health.figures(), self._canaries.touched()
        answer = attackers[mutant.number % len(attackers)].send(mutant)
        with suppress(grpc.RpcError):
            for each in attackers:
                each.close()
        time.sleep(self._patience.settle)
        self._server.until_ready()
        after = self._health.figures()
        found = {_rose(name) for name in after if after[name] > before[name]}
        found |= {_touched(each) for each in self._canaries.touched()}
        return found | {self._oracle.fault(answer)}

    def _made_smaller(self, finding: Finding) -> Finding:
        """Return the finding with the smallest mutant that causes it, if it is the first finding of its kind."""
        mutant = finding.mutant
        message = mutant.parsed() if mutant else None
        first = next(each for each in self.report.findings if each.kind == finding.kind)
        if mutant is None or message is None or finding is not first:
            return finding

        def is_same(smaller: Message) -> bool:
            return time.monotonic() < self._replay_until and finding.kind in self._replay(_with(mutant, smaller))

        return Finding(finding.kind, _with(mutant, shrink(message, is_same)), finding.detail)


def _rose(figure: str) -> str:
    return f"{figure} rose"


def _touched(canary: str) -> str:
    return f"canary: {canary} was touched"


def shrink(message: Message, is_same: Callable[[Message], bool]) -> Message:
    """Return the smallest message found that causes the same fault, within the maximum number of tries."""
    tries = itertools.count()
    found = True
    while found:
        found = False
        for each in shrink_candidates(message):
            if next(tries) >= _TRIES:
                return message
            if is_same(each):
                message, found = each, True
                break
    return message


def _with(mutant: Mutant, message: Message) -> Mutant:
    return replace(mutant, data=message.SerializeToString())
