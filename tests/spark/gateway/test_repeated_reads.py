"""Repeated reads of settings: a kept response is what the driver would answer."""

import asyncio
from typing import Any

import pytest

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.repeated_reads import RepeatedReads

READ = "spark.sql.execution.pyspark.binaryAsBytes"
ZONE = "spark.sql.session.timeZone"


def _read(*keys: str, default: str | None = "true") -> Any:
    request = base.ConfigRequest()
    if default is None:
        request.operation.get.keys.extend(keys)
    else:
        request.operation.get_with_default.pairs.extend(base.KeyValue(key=key, value=default) for key in keys)
    return request


def _set(key: str) -> Any:
    request = base.ConfigRequest()
    request.operation.set.pairs.add(key=key, value="false")
    return request


class _Driver:
    """Answers every request with its number, and fails if `fails`."""

    def __init__(self) -> None:
        self.requests = 0
        self.fails = False

    async def send(self) -> bytes:
        self.requests += 1
        if self.fails:
            raise ConnectionError
        return str(self.requests).encode()


def _answers(reads: RepeatedReads, driver: _Driver, *requests: Any) -> list[bytes]:
    async def ask() -> list[bytes]:
        return [await reads.answer(each, driver.send) for each in requests]

    return asyncio.run(ask())


def test_a_repeated_read_is_answered_without_the_driver() -> None:
    assert _answers(RepeatedReads(), _Driver(), *[_read(READ)] * 3) == [b"1"] * 3
    assert _answers(RepeatedReads(), _Driver(), *[_read(READ, default=None)] * 2) == [b"1"] * 2


@pytest.mark.parametrize("read", [_read(ZONE), _read(READ, ZONE), _read(ZONE, default=None)], ids=str)
def test_a_read_of_any_other_setting_reaches_the_driver(read: Any) -> None:
    assert _answers(RepeatedReads(), _Driver(), read, read) == [b"1", b"2"]


def test_a_read_with_another_default_reaches_the_driver() -> None:
    answers = _answers(RepeatedReads(), _Driver(), _read(READ), _read(READ, default="false"), _read(READ, default=None))

    assert answers == [b"1", b"2", b"3"]


def test_a_change_of_a_setting_ends_what_is_kept() -> None:
    answers = _answers(RepeatedReads(), _Driver(), _read(READ), _set(ZONE), _read(READ), _read(READ))

    assert answers == [b"1", b"2", b"3", b"3"]


def test_a_read_during_a_change_is_not_kept() -> None:
    reads, driver, go_on = RepeatedReads(), _Driver(), asyncio.Event()

    async def slow() -> bytes:
        await go_on.wait()
        return await driver.send()

    async def ask() -> list[bytes]:
        changing = asyncio.create_task(reads.answer(_set(READ), slow))
        await asyncio.sleep(0)
        before = await reads.answer(_read(READ), driver.send)
        go_on.set()
        await changing
        return [before, await reads.answer(_read(READ), driver.send)]

    assert asyncio.run(ask()) == [b"1", b"3"]


def test_a_read_that_a_change_overtakes_is_not_kept() -> None:
    reads, driver, go_on = RepeatedReads(), _Driver(), asyncio.Event()

    async def slow() -> bytes:
        answer = await driver.send()
        await go_on.wait()
        return answer

    async def ask() -> bytes:
        reading = asyncio.create_task(reads.answer(_read(READ), slow))
        await asyncio.sleep(0)
        await reads.answer(_set(READ), driver.send)
        go_on.set()
        await reading
        return await reads.answer(_read(READ), driver.send)

    assert asyncio.run(ask()) == b"3"


def test_a_session_keeps_nothing_after_a_change_with_an_unknown_end() -> None:
    reads, driver = RepeatedReads(), _Driver()
    driver.fails = True
    with pytest.raises(ConnectionError):
        _answers(reads, driver, _set(READ))
    driver.fails = False

    assert _answers(reads, driver, _read(READ), _read(READ)) == [b"2", b"3"]


@pytest.mark.parametrize(
    "text",
    [
        "SET spark.sql.execution.pyspark.binaryAsBytes=false",
        "set\n  x = y",
        "BEGIN SELECT 1; SeT x = 1; END",
        "RESET",
        "reset spark.sql.ansi.enabled",
        "EXECUTE IMMEDIATE 'S' || 'ET x = 1'",
        "SET/**/x=1",
        "SET`x`=1",
        "\u017fET x = 1",
        "EXECUTE \u0131MMEDIATE 'x'",
        "SELECT 1 --" + "x" * 100_000,
    ],
)
def test_a_session_keeps_nothing_after_a_statement_that_may_change_a_setting(text: str) -> None:
    reads, driver = RepeatedReads(), _Driver()
    request = base.ExecutePlanRequest()
    request.plan.command.sql_command.input.sql.query = text
    assert _answers(reads, driver, _read(READ)) == [b"1"]

    reads.note_statement(request.SerializeToString())

    assert _answers(reads, driver, _read(READ), _read(READ)) == [b"2", b"3"]


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT settled FROM settings", "SELECT count(*) FROM t WHERE x > 1"])
def test_a_query_does_not_end_what_is_kept(text: str) -> None:
    reads, driver = RepeatedReads(), _Driver()
    request = base.ExecutePlanRequest()
    request.plan.root.sql.query = text
    reads.note_statement(request.SerializeToString())

    assert _answers(reads, driver, _read(READ), _read(READ)) == [b"1", b"1"]
