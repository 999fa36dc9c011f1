"""Mutated requests against a whole server: what a user without rights sends ends nothing, opens nothing and shows nothing."""

import itertools
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from headgate.spark.toolchain import Toolchain, default_cache
from tests.app.serving import HEADGATE, serving
from tests.conftest import IN_CI
from tests.connect_fuzzer.canaries import Canaries
from tests.connect_fuzzer.fuzzer import Attacker, Fuzzer, Judge, Report
from tests.connect_fuzzer.messages import corpus, recorded
from tests.connect_fuzzer.mutation import Mutant, Mutation, kept
from tests.connect_fuzzer.scene import Scene, Work
from tests.connect_fuzzer.words import statements, texts, values
from tests.soak import count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]
SEED: Final = 16
WITHOUT_SANDBOX: Final = (sys.executable, "-m", "tests.sandbox.without_landlock", str(HEADGATE))
"""Starts Headgate on a kernel without Landlock: what the lists let through is not held by another layer, and is seen."""
_SERVED: Final = 0.02
"""The share of mutants that are carried out at least, or little is tried."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder for the server, with what attackers look for, in a folder whose name only the server knows."""
    cache = default_cache(os.environ)
    home = tmp_path / f"place{secrets.token_hex(8)}" / "home"
    for name in (".ssh/id_rsa", ".aws/credentials", ".netrc", "passwords.csv"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("password,secret\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HEADGATE_CACHE", str(cache))
    (tmp_path / "alias").symlink_to(home.parent)
    return home


@contextmanager
def watched(home: Path, data: Path) -> Iterator[Canaries]:
    """Watch the token, the keys and the home folder."""
    try:
        canaries = Canaries({data / "owner.token": "the token", data / "keys": "a key", home: "a home folder"})
    except OSError as error:
        if IN_CI:
            raise
        pytest.skip(str(error))
    with canaries:
        yield canaries


def fuzz(home: Path, program: Sequence[str], numbers: range) -> Report:
    """Send what was found before and the mutants of these numbers to a server of its own."""
    data, alias = home.parent / "data", home.parent.parent / "alias"
    with serving(data, program=program) as server:
        server.until_ready()
        scene = Scene(server, data)
        work = Work(scene)
        work.start()
        with watched(home, data) as canaries:
            paths = [
                alias / each for each in ("data/owner.token", "data/keys", "home/.ssh/id_rsa", "home/passwords.csv")
            ]
            others = (work.session_id, "vic", "mine", "local", "anns", f"vic:{scene.vic.token.split('.')[1]}")
            mutation = Mutation(
                corpus([*recorded(), *statements()]), texts(paths, canaries.port, others), values(), SEED
            )
            judge = Judge({scene.marker.encode(): "marked rows", home.parent.name.encode(): "a path of the server"})
            tokens = (scene.nina.token, scene.nina.token, scene.nina.token, scene.ed.token)
            fuzzer = Fuzzer(
                server,
                lambda: [Attacker(scene.port, each) for each in tokens],
                judge,
                canaries,
                lambda text: print(text, flush=True),  # noqa: T201
                work,
            )
            require_sight(Attacker(scene.port, scene.vic.token), judge, canaries, home)
            report = fuzzer.run(itertools.chain(kept(), map(mutation.mutant, numbers)))
        assert "Traceback" not in server.output, server.output
    return report


def require_sight(vic: Attacker, judge: Judge, canaries: Canaries, home: Path) -> None:
    """Fail unless what would be a finding is seen: marked rows in an answer, and a canary that is opened."""
    plan: Any = {"root": {"read": {"named_table": {"unparsed_identifier": "lake.secret.salaries"}}}}
    request = base.ExecutePlanRequest(plan=plan).SerializeToString()
    assert judge.wrong(vic.send(Mutant(0, EXECUTE_PLAN, request))) == "an answer has marked rows"
    vic.close()
    canaries.touched()
    (home / "passwords.csv").read_text(encoding="utf-8")
    assert canaries.touched() == {"a home folder"}


def require_no_findings(report: Report, least: int) -> None:
    """Fail with all findings, and if little was tried."""
    count(f"message fuzzer: {report}")
    if report.findings:
        pytest.fail(report.described())
    assert report.sent >= least
    assert report.codes[grpc.StatusCode.OK.name] >= _SERVED * report.sent, report.codes


def test_mutated_requests_of_a_user_without_rights_reach_nothing(home: Path, toolchain: Toolchain) -> None:
    assert toolchain.guard_jar.exists()
    require_no_findings(fuzz(home, WITHOUT_SANDBOX, range(400)), 400)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_five_thousand_mutated_requests_more_reach_nothing(home: Path, part: int) -> None:
    """Three of four parts without a sandbox, where what the lists let through is seen."""
    program = WITHOUT_SANDBOX if part else (str(HEADGATE),)
    require_no_findings(fuzz(home, program, range(5000 * (part + 1), 5000 * (part + 2))), 5000)
