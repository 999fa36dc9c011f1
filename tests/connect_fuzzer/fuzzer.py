"""Sends mutants to a server and looks what comes of it: every finding is kept, by kind, and reproduced at the end."""

import itertools
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc
import httpx
from google.protobuf.message import Message

from headgate.spark.gateway.rpcs import RELEASE_SESSION
from tests.app.serving import Serving
from tests.connect_fuzzer.canaries import Canaries
from tests.connect_fuzzer.mutation import Mutant, kept_line, smaller
from tests.connect_fuzzer.scene import Work
from tests.gateway.hostile_client import Answer, RawClient, bearer

WORKERS: Final = 4
_CALL_SECONDS: Final = 10.0
_PER_SESSION: Final = 32
"""Mutants that a worker sends before it begins another session."""
_LOOK_EVERY: Final = 100
"""Mutants between two looks at the processes and canaries."""
_SUSPECTS: Final = 8
"""The last mutants of each worker, of which one may have ended a process."""
_END_SECONDS: Final = 60.0
"""Within which everything ends that mutants began, when their sessions are closed."""
_IDLE_SECONDS: Final = 3.0
_IDLE_SHARE: Final = 0.5
"""The share of one processor that a driver without statements may use."""
_TRIES: Final = 60
"""Requests that are tried to make one finding smaller."""
_FIGURES: Final = ("driver_starts", "driver_hangs", "gateway_starts", "task_deaths")


@dataclass(frozen=True, slots=True)
class Finding:
    """What should not have happened, and the mutant that was sent then, if it is known."""

    kind: str
    mutant: Mutant | None = None
    detail: str = ""


@dataclass
class Report:
    """What was sent and found."""

    sent: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the line that is counted."""
        kinds = Counter(each.kind for each in self.findings)
        codes = ", ".join(f"{number} {code}" for code, number in self.codes.most_common(4))
        return f"{self.sent} mutants ({codes}), {len(self.findings)} findings of {len(kinds)} kinds"

    def described(self) -> str:
        """Return each kind with how often it was found and its first finding."""
        kinds = Counter(each.kind for each in self.findings)
        first = {each.kind: each for each in reversed(self.findings)}
        return "\n\n".join(f"{number} times: {kind}\n{_shown(first[kind])}" for kind, number in kinds.most_common())


def _shown(finding: Finding) -> str:
    if finding.mutant is None:
        return finding.detail
    return f"{finding.detail}\nmutant {finding.mutant.number}; keep it:\n{kept_line(finding.mutant)}"[:8000]


class Attacker:
    """A user without a right on the marked rows."""

    def __init__(self, port: int, token: str) -> None:
        self._client = RawClient(f"127.0.0.1:{port}", bearer(token))
        self._sessions = {str(uuid.uuid4())}
        self.session = next(iter(self._sessions))

    def send(self, mutant: Mutant) -> Answer:
        """Send a mutant in this session, unless it names another."""
        message = mutant.parsed()
        named = getattr(message, "session_id", "") if message is not None else ""
        if named:
            self._sessions.add(named)
        # What comes first yields to what the mutant says itself.
        prefix = mutant.rpc.request(session_id=self.session).SerializeToString()
        return self._client.send(mutant.rpc.name, [prefix + mutant.data], seconds=_CALL_SECONDS)

    def renew(self) -> None:
        """End every session that a mutant named, and begin another."""
        for each in self._sessions:
            request = RELEASE_SESSION.request(session_id=each).SerializeToString()
            self._client.send(RELEASE_SESSION.name, [request], seconds=_CALL_SECONDS)
        self._sessions = {str(uuid.uuid4())}
        self.session = next(iter(self._sessions))

    def close(self) -> None:
        """End the sessions and the connection."""
        self.renew()
        self._client.close()


class Judge:
    """Says what is wrong with an answer. `secrets` are texts that no answer may have, each with what it is."""

    def __init__(self, secrets: dict[bytes, str]) -> None:
        self._secrets = secrets

    def wrong(self, answer: Answer) -> str:
        """Return the kind of finding, or nothing."""
        told = ((answer.text or "").encode(), answer.rich, *answer.messages)
        for secret, name in self._secrets.items():
            if any(secret in each for each in told):
                return f"an answer has {name}"
        if answer.code is grpc.StatusCode.UNKNOWN and "Unexpected" in (answer.text or ""):
            return f"the gateway raised an error of its own: {answer.text[:200]}"
        return ""


class Fuzzer:
    """Sends the mutants of some numbers from several workers at once."""

    def __init__(
        self,
        server: Serving,
        attackers: Callable[[], Sequence[Attacker]],
        judge: Judge,
        canaries: Canaries,
        say: Callable[[str], None],
        work: Work,
    ) -> None:
        """`attackers` makes those of one worker; a mutant's number says which of them sends it. `work` is the other user's."""
        self._server = server
        self._make_attackers = attackers
        self._judge = judge
        self._canaries = canaries
        self._say = say
        self._user = work
        self._lock = threading.Lock()
        self._recent = [deque[Mutant](maxlen=_SUSPECTS) for _ in range(WORKERS)]
        self._suspects: list[tuple[str, tuple[Mutant, ...]]] = []
        self._figures = self._read_figures()
        assert self._figures["driver_starts"], "the server does not say how often its driver was started"
        self.report = Report()

    def run(self, mutants: Iterable[Mutant]) -> Report:
        """Send all, wait until nothing of them runs, and return what was found, made as small as it goes."""
        self._canaries.touched()
        waiting = iter(mutants)
        threads = [threading.Thread(target=self._work, args=(worker, waiting)) for worker in range(WORKERS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self._user.stop()
        self._server.until_ready()
        self._look()
        self._require_end()
        if not self._suspects:
            self.report.findings += [Finding("the other user's work failed", None, each) for each in self._user.errors]
        for kind, suspects in self._suspects:
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
        wrong = self._judge.wrong(answer)
        with self._lock:
            report = self.report
            report.sent += 1
            report.codes[answer.code.name] += 1
            report.calls[mutant.rpc.name] += 1
            if wrong:
                report.findings.append(Finding(wrong, mutant, answer.text[:1000]))
            if report.sent % _LOOK_EVERY == 0 or answer.code is grpc.StatusCode.UNAVAILABLE:
                self._look()
            if report.sent % 1000 == 0:
                self._say(str(report))

    def _look(self) -> None:
        """See whether a process ended or a canary was touched, and wait for what has to begin again."""
        figures = self._read_figures()
        for name in sorted(figures):
            if figures[name] > self._figures.get(name, 0):
                self._suspect(f"{name} went up")
        self._figures = figures
        for each in sorted(self._canaries.touched()):
            self._suspect(f"canary: {each} was touched")

    def _suspect(self, kind: str) -> None:
        suspects = tuple(each for recent in self._recent for each in recent)
        self._say(f"{kind}; {len(suspects)} suspects")
        self._suspects.append((kind, suspects))
        self._server.until_ready()

    def _read_figures(self) -> dict[str, float]:
        """Return what the server says of its processes: figures that only go up when one has ended or hung."""
        found: dict[str, float] = dict.fromkeys(_FIGURES, 0.0)
        for name, value in metrics(self._server):
            for figure in _FIGURES:
                if name.startswith((f"headgate_spark_{figure}_total", f"headgate_{figure}_total")):
                    found[figure] += value
        return found

    def _require_end(self) -> None:
        """Add a finding unless nothing runs in the driver after a while."""
        deadline, running = time.monotonic() + _END_SECONDS, 0.0
        while time.monotonic() < deadline:
            running = sum(value for name, value in metrics(self._server) if name == "headgate_spark_operations")
            if not running and processor_share(self._server.jvm(), _IDLE_SECONDS) < _IDLE_SHARE:
                return
            time.sleep(1)
        self.report.findings.append(Finding("a statement goes on", None, f"{running:g} operations are under way"))

    def _find(self, kind: str, suspects: Sequence[Mutant]) -> None:
        """Send the suspects again, one by one, until the same happens."""
        for mutant in reversed(suspects):
            if kind in self._again(mutant):
                self.report.findings.append(Finding(kind, mutant))
                return
        numbers = sorted(each.number for each in suspects)
        self.report.findings.append(Finding(kind, None, f"not seen again with any of {numbers} alone"))

    def _again(self, mutant: Mutant) -> set[str]:
        """Send a mutant in a new session, and return what is wrong then."""
        self._server.until_ready()
        attackers = self._make_attackers()
        before, _ = self._read_figures(), self._canaries.touched()
        answer = attackers[mutant.number % len(attackers)].send(mutant)
        with suppress(grpc.RpcError):
            for each in attackers:
                each.close()
        time.sleep(1)
        self._server.until_ready()
        after = self._read_figures()
        found = {f"{name} went up" for name in after if after[name] > before[name]}
        found |= {f"canary: {each} was touched" for each in self._canaries.touched()}
        return found | {self._judge.wrong(answer)}

    def _made_smaller(self, finding: Finding) -> Finding:
        """Return the finding with the smallest mutant that does the same, if it is the first of its kind."""
        mutant = finding.mutant
        message = mutant.parsed() if mutant else None
        first = next(each for each in self.report.findings if each.kind == finding.kind)
        if mutant is None or message is None or finding is not first:
            return finding
        least = shrink(message, lambda each: finding.kind in self._again(_with(mutant, each)))
        return Finding(finding.kind, _with(mutant, least), finding.detail)


def shrink(message: Message, is_same: Callable[[Message], bool]) -> Message:
    """Return the smallest message found that does the same, with so many tries."""
    tries = itertools.count()
    found = True
    while found:
        found = False
        for each in smaller(message):
            if next(tries) >= _TRIES:
                return message
            if is_same(each):
                message, found = each, True
                break
    return message


def _with(mutant: Mutant, message: Message) -> Mutant:
    return Mutant(mutant.number, mutant.rpc, message.SerializeToString())


def metrics(server: Serving) -> Iterator[tuple[str, float]]:
    """Yield what the server counts."""
    for each in httpx.get(f"{server.url}/metrics", trust_env=False).text.splitlines():
        if not each.startswith("#"):
            name, _, value = each.rpartition(" ")
            yield name, float(value)


def processor_share(pid: int, seconds: float) -> float:
    """Return how much of one processor a process uses now."""
    before = _ticks(pid)
    time.sleep(seconds)
    return (_ticks(pid) - before) / 100 / seconds


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
