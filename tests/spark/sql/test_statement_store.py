"""Stored statements: their owner, number, lifetime and end."""

import pyarrow as pa
import pytest

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.authority import PresentedCredential
from headgate.spark.sql.statement_store import StatementStore, StoredStatement
from headgate.spark.sql.statements import TOO_MANY, SqlLimits, StatementError, StatementRequest
from tests.fakes.statements import PATIENCE, FakeSpark

ANN, BOB = PrincipalId("ann"), PrincipalId("bob")
MINE, ANOTHER = PresentedCredential("mine"), PresentedCredential("another")
WANTED = StatementRequest("SELECT 1", None, 10, 1000, 60.0)


class Clock:
    """A clock that moves only when the test sets it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def ended(kept: StoredStatement) -> StoredStatement:
    kept.ended.result(PATIENCE)
    return kept


class TestAStatement:
    def test_a_statement_is_running_until_it_has_rows(self) -> None:
        spark = FakeSpark(waits=True)
        statements = StatementStore(spark, SqlLimits())
        kept = statements.start(MINE, ANN, WANTED)
        assert kept.state == "running"
        assert kept.progress.tasks_done == 3

        spark.last.go.set()

        assert ended(kept).state == "succeeded"
        assert kept.rows is not None
        assert kept.rows.to_pylist() == [{"n": 1}]
        assert spark.last.closed.is_set()

    def test_a_failed_statement_stores_its_error(self) -> None:
        error = StatementError("no", "42501", None)

        kept = ended(StatementStore(FakeSpark(error=error), SqlLimits()).start(MINE, ANN, WANTED))

        assert kept.state == "failed"
        assert kept.error is error

    def test_a_cancelled_statement_has_the_state_cancelled(self) -> None:
        spark = FakeSpark(waits=True)
        kept = StatementStore(spark, SqlLimits()).start(MINE, ANN, WANTED)

        kept.cancel()

        assert ended(kept).state == "cancelled"
        assert spark.last.closed.is_set()

    def test_the_error_of_a_broken_statement_names_no_file_of_the_machine(self) -> None:
        kept = ended(StatementStore(FakeSpark(error=OSError("/secret")), SqlLimits()).start(MINE, ANN, WANTED))  # type: ignore[arg-type]

        assert kept.state == "failed"
        assert "/secret" not in str(kept.error)

    def test_a_statement_with_rows_is_authorized_again_for_its_reader(self) -> None:
        spark = FakeSpark(waits=True)
        kept = StatementStore(spark, SqlLimits()).start(MINE, ANN, WANTED)
        kept.decide_again(Caller(ANN))
        assert spark.last.readers == []

        spark.last.go.set()
        ended(kept).decide_again(Caller(ANN, TokenId("narrow")))

        assert spark.last.readers == [Caller(ANN, TokenId("narrow"))]

    def test_a_statement_without_columns_is_not_authorized_again(self) -> None:
        spark = FakeSpark(pa.RecordBatch.from_pydict({}))

        ended(StatementStore(spark, SqlLimits()).start(MINE, ANN, WANTED)).decide_again(Caller(ANN))

        assert spark.last.readers == []

    def test_a_statement_is_found_by_its_own_token_only(self) -> None:
        statements = StatementStore(FakeSpark(), SqlLimits())
        kept = ended(statements.start(MINE, ANN, WANTED))

        assert statements.find(MINE, kept.id) is kept
        assert statements.find(ANOTHER, kept.id) is None
        assert statements.find(PresentedCredential("mine", "acme"), kept.id) is None
        assert statements.find(MINE, "s_nosuch") is None

    def test_a_dropped_statement_is_cancelled_and_deleted(self) -> None:
        spark = FakeSpark(waits=True)
        statements = StatementStore(spark, SqlLimits())
        kept = statements.start(MINE, ANN, WANTED)

        statements.drop(kept)

        assert statements.find(MINE, kept.id) is None
        assert ended(kept).state == "cancelled"


class TestOnePrincipal:
    def test_a_principal_has_a_bounded_number_of_statements_at_once(self) -> None:
        statements = StatementStore(FakeSpark(), SqlLimits(at_once=2))
        first = statements.start(MINE, ANN, WANTED)
        statements.start(PresentedCredential("mine too"), ANN, WANTED)

        with pytest.raises(StatementError) as raised:
            statements.start(MINE, ANN, WANTED)
        assert raised.value.condition == TOO_MANY

        statements.start(ANOTHER, BOB, WANTED)
        statements.drop(ended(first))
        statements.start(MINE, ANN, WANTED)

    def test_streams_and_stored_statements_of_one_principal_count_together(self) -> None:
        statements = StatementStore(FakeSpark(), SqlLimits(at_once=2))
        ended(statements.start(MINE, ANN, WANTED))
        stream = statements.begin(PresentedCredential("mine too"), ANN, WANTED)
        for begin in (statements.start, statements.begin):
            with pytest.raises(StatementError) as raised:
                begin(MINE, ANN, WANTED)
            assert raised.value.condition == TOO_MANY
        statements.begin(ANOTHER, BOB, WANTED)

        stream.cancel("it is not needed")
        with pytest.raises(StatementError):
            statements.begin(MINE, ANN, WANTED)
        stream.close()
        stream.close()

        statements.begin(MINE, ANN, WANTED)
        with pytest.raises(StatementError):
            statements.begin(MINE, ANN, WANTED)

    def test_a_stream_that_fails_to_close_is_not_counted_any_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        spark = FakeSpark()
        statements = StatementStore(spark, SqlLimits(at_once=1))
        stream = statements.begin(MINE, ANN, WANTED)

        def fail() -> None:
            raise OSError("the connection is lost")

        monkeypatch.setattr(spark.last, "close", fail)
        with pytest.raises(OSError, match="lost"):
            stream.close()

        statements.begin(MINE, ANN, WANTED)

    def test_a_dropped_statement_counts_until_its_thread_has_closed_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        spark = FakeSpark(waits=True)
        statements = StatementStore(spark, SqlLimits(at_once=1))
        kept = statements.start(MINE, ANN, WANTED)
        monkeypatch.setattr(spark.last, "cancel", lambda _: None)
        statements.drop(kept)

        with pytest.raises(StatementError):
            statements.start(MINE, ANN, WANTED)
        spark.last.go.set()
        ended(kept)

        statements.start(MINE, ANN, WANTED)
        statements.close()

    def test_a_principal_with_all_its_statements_leaves_threads_for_others(self) -> None:
        spark = FakeSpark(waits=True)
        statements = StatementStore(spark, SqlLimits(at_once=70))
        held = [statements.start(MINE, ANN, WANTED) for _ in range(70)]

        other = statements.start(ANOTHER, BOB, WANTED)
        spark.last.go.set()

        assert ended(other).state == "succeeded"
        assert {each.state for each in held} == {"running"}
        statements.close()


class TestTheRows:
    def test_the_rows_of_many_batches_are_stored_in_one_piece(self) -> None:
        batches = [pa.RecordBatch.from_pydict({"n": [1]}) for _ in range(5)]

        kept = ended(StatementStore(FakeSpark(*batches), SqlLimits()).start(MINE, ANN, WANTED))

        assert kept.rows is not None
        assert (kept.rows.num_rows, kept.rows.column(0).num_chunks) == (5, 1)


class TestWhatNobodyAsksFor:
    def test_a_statement_that_no_client_reads_expires(self) -> None:
        clock, spark = Clock(), FakeSpark(waits=True)
        statements = StatementStore(spark, SqlLimits(kept_seconds=60.0), clock)
        kept = statements.start(MINE, ANN, WANTED)

        clock.now = 59.0
        assert statements.find(MINE, kept.id) is kept
        clock.now = 118.0
        assert statements.find(MINE, kept.id) is kept
        clock.now = 179.0

        assert statements.find(MINE, kept.id) is None
        assert ended(kept).state == "cancelled"

    def test_a_statement_does_not_expire_while_a_client_waits(self) -> None:
        clock = Clock()
        statements = StatementStore(FakeSpark(), SqlLimits(kept_seconds=60.0), clock)
        kept = statements.start(MINE, ANN, WANTED)
        kept.waiting = 1

        clock.now = 1000.0

        assert statements.find(MINE, kept.id) is kept
