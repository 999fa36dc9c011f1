"""A fuzzing run: mutants against a whole server of its own, with canaries on everything that they must not reach."""

import itertools
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import pytest

from headgate.sandbox import SandboxLevel
from headgate.spark.gateway.rpcs import ANALYZE_PLAN, EXECUTE_PLAN
from tests.app.server_process import HEADGATE, serving
from tests.connect_fuzzer.canaries import Canaries, watched
from tests.connect_fuzzer.dictionary import requests, texts, values
from tests.connect_fuzzer.fuzzer import Attacker, Finding, Fuzzer, Oracle, Report
from tests.connect_fuzzer.health import RunningServer
from tests.connect_fuzzer.mutation import Mutant, Mutation, regressions
from tests.connect_fuzzer.scene import Scene, Work, read_salaries
from tests.sandbox import without_landlock
from tests.soak import count

SEED: Final = 16
_SERVED: Final = 0.005
"""The minimum share of mutants that are plans or analyses and are executed; a lower share tests too little."""


def fuzz(home: Path, numbers: range, level: SandboxLevel = SandboxLevel.NONE) -> Report:
    """Send the mutants of earlier findings and those of these numbers to a server of their own."""
    data, alias = home.parent / "data", home.parent.parent / "alias"
    kernel = without_landlock.COMMAND if level is SandboxLevel.NONE else ()
    with serving(data, program=(*kernel, str(HEADGATE))) as server:
        server.until_ready()
        assert httpx.get(f"{server.url}/readyz", trust_env=False).json()["sandbox"].startswith(level.value)
        scene = Scene(server, data)
        places = {data / "owner.token": "the token", data / "keys": "a key", home: "a home folder"}
        with Work(scene) as work, watched(places) as canaries:
            paths = [
                alias / each for each in ("data/owner.token", "data/keys", "home/.ssh/id_rsa", "home/passwords.csv")
            ]
            others = ("vic", "mine", "local", "anns", f"vic:{scene.vic.token.split('.')[1]}")
            ids = (work.session_id, work.operation_id, str(uuid.UUID(int=SEED)))
            mutation = Mutation(requests(), texts(paths, canaries.port, others), values(), ids, SEED)
            oracle = Oracle(
                dict.fromkeys(scene.secrets, "marked rows") | {home.parent.name.encode(): "a path of the server"}
            )
            tokens = (scene.nina.token, scene.nina.token, scene.nina.token, scene.ed.token)
            attackers = partial(_attackers, scene.port, tokens)
            require_sight(Attacker(scene.port, scene.vic.token), oracle, canaries, home, data / "keys")
            fuzzer = Fuzzer(RunningServer(server), attackers, oracle, canaries, partial(print, flush=True), work)
            report = fuzzer.run(itertools.chain(regressions(), map(mutation.mutant, numbers)))
        if "Traceback" in server.output:
            report.findings.append(Finding("the server printed a traceback", None, server.output[-4000:]))
    return report


def _attackers(port: int, tokens: Sequence[str]) -> Sequence[Attacker]:
    return [Attacker(port, each) for each in tokens]


def require_sight(vic: Attacker, oracle: Oracle, canaries: Canaries, home: Path, keys: Path) -> None:
    """Fail unless the fuzzer detects marked rows in an answer, and a canary that is opened or listed."""
    assert oracle.fault(vic.send(Mutant(0, EXECUTE_PLAN, read_salaries()))) == "an answer has marked rows"
    vic.close()
    canaries.touched()
    (home / "passwords.csv").read_text(encoding="utf-8")
    assert canaries.touched() == {"a home folder"}
    assert list(keys.iterdir())
    assert canaries.touched() == {"a key"}


def require_no_findings(report: Report, least: int) -> None:
    """Fail with all findings, or if the run tested too little."""
    count(f"message fuzzer: {report}")
    if report.findings:
        pytest.fail(report.described())
    assert report.sent >= least
    for call in (EXECUTE_PLAN, ANALYZE_PLAN):
        assert report.served[call.name] >= _SERVED * least, report.served
