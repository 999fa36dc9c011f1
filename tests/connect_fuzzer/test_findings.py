"""The fuzzer detects every kind of fault when it occurs, and reports none otherwise."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import grpc
import pyarrow as pa
import pytest

from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from tests.app.server_process import until
from tests.connect_fuzzer.canaries import Canaries, watched
from tests.connect_fuzzer.fake_server import FakeAttacker, FakeServer, FakeWork
from tests.connect_fuzzer.fuzzer import Finding, Fuzzer, Oracle, Patience, Report
from tests.connect_fuzzer.health import FIGURES, Health, processor_seconds
from tests.connect_fuzzer.mutation import Mutant
from tests.connect_fuzzer.scene import Trouble, forms, read_salaries
from tests.spark.gateway.hostile_client import Answer

ORACLE = Oracle({b"marked17": "marked rows"})
NUMBER = 2**61 + 17
DENIED, UNKNOWN = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNKNOWN
BAD = 5
"""The number of the mutant that has an effect."""
MUTANTS = [Mutant(number, EXECUTE_PLAN, read_salaries()) for number in range(12)]
ALWAYS, NEVER = (0.0, float("inf")), (0.0, 0.0)
"""Times of a round: one that overlaps every outage, and one that overlaps none."""
RESTARTS = ("driver_starts", "driver_hangs", "gateway_starts")
HAVE_TIME = Patience(end=0.0, idle=0.01, replay=60.0, settle=0.0)


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    (tmp_path / "owner.token").write_text("secret", encoding="utf-8")
    return tmp_path / "owner.token"


@pytest.fixture
def canaries(token: Path) -> Iterator[Canaries]:
    with watched({token: "the token"}) as canaries:
        yield canaries


Find = Callable[..., Sequence[Finding]]


@pytest.fixture
def find(server: FakeServer, canaries: Canaries) -> Find:
    """Return a function that sends the mutants, one of which has an effect, and returns the findings."""

    def found(act: Callable[[], Answer | None] = lambda: None, work: FakeWork | None = None) -> Sequence[Finding]:
        attacker = FakeAttacker(lambda mutant: act() if mutant.number == BAD else None)
        fuzzer = Fuzzer(server, lambda: [attacker], ORACLE, canaries, print, work or FakeWork(), HAVE_TIME)
        report = fuzzer.run(MUTANTS)
        assert report.sent == len(MUTANTS)
        return report.findings

    return found


def rise(server: FakeServer, figure: str) -> None:
    """Increase a figure, and make Spark unavailable until the fuzzer waits for it."""
    server.spark[figure] += 1
    server.ready = False


@pytest.mark.parametrize(
    "answer",
    [
        Answer(grpc.StatusCode.OK, "", [b"x", b"a row with marked17 in it"]),
        Answer(DENIED, "there is no marked17"),
        Answer(DENIED, "no", [], b"details with marked17"),
    ],
)
def test_a_marker_is_found_in_rows_texts_and_details(answer: Answer) -> None:
    assert ORACLE.fault(answer) == "an answer has marked rows"


@pytest.mark.parametrize(
    "value",
    ["marked17", "71dekram", b"marked17".hex().upper(), NUMBER, str(NUMBER)],
    ids=["text", "backwards", "hexadecimal", "number", "digits"],
)
def test_a_marker_is_found_in_each_form_that_a_query_can_give_it(value: str | int) -> None:
    oracle = Oracle(dict.fromkeys(forms("marked17", NUMBER), "marked rows"))
    rows = pa.record_batch({"a": [value]}).serialize().to_pybytes()

    assert oracle.fault(Answer(grpc.StatusCode.OK, "", [rows])) == "an answer has marked rows"
    assert oracle.fault(Answer(grpc.StatusCode.OK, "", [pa.record_batch({"a": [18]}).serialize().to_pybytes()])) == ""


def test_an_internal_error_of_the_gateway_is_a_fault_and_a_refusal_is_none() -> None:
    assert "KeyError" in ORACLE.fault(Answer(UNKNOWN, "Unexpected <class 'KeyError'>: 3"))
    assert ORACLE.fault(Answer(DENIED, "you may not do this")) == ""


def test_an_opened_file_a_listed_folder_and_a_connection_are_reported_once(tmp_path: Path) -> None:
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    file = tmp_path / "home" / ".ssh" / "id_rsa"
    file.write_text("secret", encoding="utf-8")
    with watched({tmp_path / "home": "a home folder"}) as canaries:
        assert canaries.touched() == set()
        file.read_text(encoding="utf-8")
        assert canaries.touched() == {"a home folder"}
        assert canaries.touched() == set()
        assert list(file.parent.iterdir())
        assert canaries.touched() == {"a home folder"}
        socket.create_connection(("127.0.0.1", canaries.port), 5).close()
        assert until(canaries.touched, lambda: "the connection is not seen") == {"the port"}


def test_a_harmless_run_has_no_findings(find: Find) -> None:
    assert find() == []


@pytest.mark.parametrize("figure", FIGURES)
def test_a_mutant_after_which_a_process_ended_or_hung_is_found(server: FakeServer, find: Find, figure: str) -> None:
    (found,) = find(lambda: rise(server, figure))

    assert found.kind == f"{figure} rose"
    assert found.mutant is not None
    assert found.mutant.number == BAD
    assert len(found.mutant.data) < len(MUTANTS[BAD].data)


def test_a_mutant_that_ends_a_task_of_the_server_is_found(server: FakeServer, find: Find) -> None:
    def end() -> None:
        server.task_deaths["audit"] += 1

    assert [each.kind for each in find(end)] == ["task_deaths rose"]


def test_a_mutant_that_opens_a_canary_is_found(find: Find, token: Path) -> None:
    def open_token() -> None:
        token.read_bytes()

    (found,) = find(open_token)

    assert (found.kind, found.mutant and found.mutant.number) == ("canary: the token was touched", BAD)


def test_a_failure_that_no_single_mutant_repeats_is_a_finding(server: FakeServer, find: Find) -> None:
    def rise_once() -> None:
        if server.spark["driver_starts"] == 1:
            rise(server, "driver_starts")

    (found,) = find(rise_once)

    assert (found.kind, found.mutant) == ("driver_starts rose", None)
    assert "not seen again" in found.detail


def test_a_mutant_with_a_marker_in_its_answer_is_found(find: Find) -> None:
    (found,) = find(lambda: Answer(grpc.StatusCode.OK, "", [b"marked17"]))

    assert (found.kind, found.mutant and found.mutant.number) == ("an answer has marked rows", BAD)


@pytest.mark.parametrize(("operations", "processors"), [(1.0, 0.0), (0.0, 1.0)])
def test_a_statement_that_does_not_end_is_found(
    server: FakeServer, find: Find, operations: float, processors: float
) -> None:
    def begin() -> None:
        server.spark["operations"], server.processors = operations, processors

    assert [each.kind for each in find(begin)] == ["a statement goes on"]


@pytest.mark.parametrize("when", [ALWAYS, NEVER])
def test_an_error_of_the_other_user_is_found(find: Find, when: tuple[float, float]) -> None:
    (found,) = find(work=FakeWork([Trouble("no rows", *when)]))

    assert (found.kind, found.detail) == ("the other user's work failed", "no rows")


def test_a_standstill_of_the_work_of_the_other_user_is_found(find: Find) -> None:
    (found,) = find(work=FakeWork(done_at_the_end=0))

    assert (found.kind, found.detail) == ("the other user's work failed", "no round was done meanwhile")


@pytest.mark.parametrize("figure", RESTARTS)
def test_an_error_of_the_other_user_during_an_outage_is_no_separate_finding(
    server: FakeServer, find: Find, figure: str
) -> None:
    found = find(lambda: rise(server, figure), FakeWork([Trouble("unavailable", *ALWAYS)]))

    assert [each.kind for each in found] == [f"{figure} rose"]


@pytest.mark.parametrize(
    ("figure", "trouble"),
    [
        *((figure, Trouble("no rows", *NEVER)) for figure in RESTARTS),
        ("driver_starts", Trouble("another's rows", *ALWAYS, may_be_of_outage=False)),
        ("task_deaths", Trouble("no rows", *ALWAYS)),
    ],
)
def test_an_outage_excuses_no_unrelated_error_of_the_other_user(
    server: FakeServer, find: Find, figure: str, trouble: Trouble
) -> None:
    found = find(lambda: rise(server, figure), FakeWork([trouble]))

    assert sorted(each.kind for each in found) == [f"{figure} rose", "the other user's work failed"]


def test_an_outage_lasts_from_the_last_healthy_check_until_spark_is_ready_again(server: FakeServer) -> None:
    health, server.ready = Health(server), False
    before = time.monotonic()
    assert health.look() == []
    away = time.monotonic()
    rise(server, "driver_starts")

    assert health.look() == ["driver_starts"]

    after = time.monotonic()
    assert health.had_outage(before, away)
    assert not health.had_outage(after, after + 1)
    assert not health.had_outage(0.0, 0.0)


@pytest.mark.parametrize(
    ("error", "may_be"), [(AssertionError(), False), (pytest.fail.Exception(), False), (ConnectionError(), True)]
)
def test_a_wrong_answer_to_the_other_user_is_not_attributed_to_an_outage(error: BaseException, *, may_be: bool) -> None:
    assert Trouble.of(error, 0.0).may_be_of_outage is may_be


@pytest.mark.parametrize("figure", FakeServer().spark)
def test_a_metric_that_the_server_does_not_report_fails_the_start(server: FakeServer, figure: str) -> None:
    del server.spark[figure]

    with pytest.raises(AssertionError, match=f"headgate_spark_{figure}"):
        Health(server)


def test_a_server_that_does_not_report_task_deaths_fails_the_start(server: FakeServer) -> None:
    server.task_deaths = {}

    with pytest.raises(AssertionError, match="headgate_task_deaths_total"):
        Health(server)


@pytest.mark.parametrize("figure", ["driver_starts", "gateway_starts"])
def test_a_server_that_has_started_no_spark_fails_the_start(server: FakeServer, figure: str) -> None:
    server.spark[figure] = 0.0

    with pytest.raises(AssertionError, match="has started nothing"):
        Health(server)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux has /proc")
def test_the_processor_time_of_a_process_is_measured() -> None:
    before, began = processor_seconds(os.getpid()), time.process_time()
    while time.process_time() - began < 0.1:
        pass

    assert processor_seconds(os.getpid()) - before >= 0.05


def test_the_report_shows_each_kind_of_finding_once_with_its_count() -> None:
    report = Report(3, findings=[Finding("a"), Finding("b", detail="first of b"), Finding("b", detail="second of b")])

    assert str(report) == "3 mutants (), 3 findings of 2 kinds"
    assert report.described().startswith("2 times: b\nfirst of b")
    assert "second of b" not in report.described()
