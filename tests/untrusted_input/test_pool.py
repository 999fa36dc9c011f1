"""Parsers that are killed, hang, grow or give false results: one job fails with a message, all others continue."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pytest
from typing_extensions import override

from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.fair_queue import FairQueue
from headgate.untrusted_input.frames import ANSWER_HEAD, DOCUMENT, ParserOutcome
from headgate.untrusted_input.launcher_process import LauncherProcess
from headgate.untrusted_input.limits import MEBIBYTE, ParserLimits
from headgate.untrusted_input.pool import ParserPool
from tests.arrow_streams import column, read, rows, stream
from tests.untrusted_input.parsers import Parsers, at_no_charge, parsers

MANY = [stream(pa.table({"i": range(1_000_000)}))] * 100
"""Input that takes long enough for a test to find the parser."""
T = TypeVar("T")
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can see the files and the memory of a parser")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces these limits")


async def kill_parser(running: Parsers, number: int, job: asyncio.Task[list[bytes]]) -> None:
    """Send a signal to the working parser until its job ends; the first parser found may belong to an earlier job."""
    while not job.done():
        with suppress(ProcessLookupError, TimeoutError):
            os.kill(await running.parser(), number)
        await asyncio.sleep(0.01)


class TestFailingParsers:
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
    def test_a_parser_that_ends_fails_its_own_job(self, pool: Parsers, number: int) -> None:
        async def attempt() -> list[bytes]:
            doomed = asyncio.create_task(pool.pool.rewrite("ann", b"arrow", MANY, at_no_charge))
            await kill_parser(pool, number, doomed)
            other = await pool.pool.rewrite("bob", b"arrow", [rows()], at_no_charge)
            with pytest.raises(UnreadableInputError, match="could not be read"):
                await doomed
            return other

        [written] = pool.run(attempt())

        assert read(written).num_rows == 3
        assert read(pool.rewrite(rows())[0]).num_rows == 3

    def test_a_parser_that_hangs_is_ended_at_its_deadline(self) -> None:
        async def attempt(running: Parsers) -> int:
            doomed = asyncio.create_task(running.pool.rewrite("ann", b"arrow", MANY, at_no_charge))
            process = await running.parser()
            os.kill(process, signal.SIGSTOP)
            with pytest.raises(OversizedInputError, match="takes too long"):
                await doomed
            return process

        with parsers(ParserLimits(wall_seconds=2.0)) as running:
            process = running.run(attempt(running))

            assert read(running.rewrite(rows())[0]).num_rows == 3
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)

    @linux
    def test_a_parser_that_grows_is_stopped_by_its_memory_limit(self) -> None:
        with parsers(ParserLimits(memory_bytes=24 * MEBIBYTE)) as running:
            with pytest.raises(OversizedInputError, match="more memory"):
                running.rewrite(stream(pa.table({"i": range(2_000_000)})))

            assert read(running.rewrite(rows())[0]).num_rows == 3

    @linux
    def test_a_parser_that_computes_too_long_is_ended(self) -> None:
        wide = stream(pa.table({f"c{each}": pa.array([each]) for each in range(9_000)}))

        with parsers(ParserLimits(cpu_seconds=1, wall_seconds=60.0)) as running:
            with pytest.raises(UnreadableInputError, match="could not be read"):
                running.rewrite(*[wide] * 200)

            assert read(running.rewrite(rows())[0]).num_rows == 3

    def test_a_launcher_that_ended_is_started_again(self, pool: Parsers) -> None:
        pool.rewrite(rows())
        ended = pool.pool.launcher_pid
        assert ended is not None
        os.kill(ended, signal.SIGKILL)
        os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)

        assert read(pool.rewrite(rows())[0]).num_rows == 3
        assert pool.pool.launcher_pid != ended

    def test_a_document_larger_than_the_limit_is_not_sent(self) -> None:
        with parsers(ParserLimits(document_bytes=MEBIBYTE)) as running:
            with pytest.raises(OversizedInputError, match="larger than 1 MiB"):
                running.rewrite(bytes(MEBIBYTE + 1))

            assert running.pool.launcher_pid is None


class TooMuchError(Exception):
    """The limit of the test is exceeded."""


class TestSizesOfAnswers:
    """A stream of a few thousand bytes can expand to rows of many megabytes."""

    def test_answers_are_charged_one_by_one_up_to_the_bound(self, pool: Parsers) -> None:
        zeros = stream(pa.table({"i": np.zeros(1_000_000, "int64")}), compression="zstd")
        charged: list[int] = []

        def charge(size: int) -> None:
            charged.append(size)
            if sum(charged) > 20 * MEBIBYTE:
                raise TooMuchError

        assert len(zeros) < 16 * 1024
        with pytest.raises(TooMuchError):
            pool.run(pool.pool.rewrite("ann", b"arrow", [zeros] * 100, charge))

        assert len(charged) == 3
        assert min(charged) > 7 * MEBIBYTE

    def test_the_size_of_an_answer_is_charged_before_it_is_read(self) -> None:
        def charge(size: int) -> None:
            assert size == 100 * MEBIBYTE
            raise TooMuchError

        with parsers() as running:
            running.pool._launcher = LyingLauncher(ANSWER_HEAD.pack(ParserOutcome.REWRITTEN, 100 * MEBIBYTE))
            with pytest.raises(TooMuchError):
                running.run(running.pool.rewrite("ann", b"arrow", [rows()], charge))


class TestTurns:
    def test_an_owner_of_a_refused_job_is_removed_from_the_queue(self) -> None:
        async def attempt() -> set[str]:
            turns = FairQueue(1, 1, 1, 1, lambda: ParsersBusyError("busy"))
            async with turns.turn("ann"):
                for owner in ("bob", "cy"):
                    with pytest.raises(ParsersBusyError):
                        async with turns.turn(owner):
                            pass
                return set(turns._owners)

        assert asyncio.run(attempt()) == {"ann"}

    def test_a_refused_job_raises_the_error_of_its_queue(self) -> None:
        async def attempt() -> None:
            turns = FairQueue(1, 1, 1, 1, lambda: ValueError("too many pages"))
            async with turns.turn("ann"), turns.turn("bob"):
                pass

        with pytest.raises(ValueError, match="too many pages"):
            asyncio.run(attempt())

    def test_an_owner_with_a_hanging_parser_does_not_block_other_owners(self) -> None:
        """If the parser of a principal hangs, only that principal waits for it."""

        async def attempt(running: Parsers) -> bytes:
            await running.pool.start()
            hanging = [asyncio.create_task(running.pool.rewrite("ann", b"arrow", MANY, at_no_charge)) for _ in range(8)]
            os.kill(await running.parser(), signal.SIGSTOP)
            async with asyncio.timeout(20):
                [written] = await running.pool.rewrite("bob", b"arrow", [rows()], at_no_charge)
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)
            return written

        with parsers(ParserLimits(wall_seconds=120.0)) as running:
            assert read(running.run(attempt(running))).num_rows == 3

    def test_jobs_that_wait_are_bounded(self, pool: Parsers) -> None:
        async def attempt() -> list[object]:
            tasks = [asyncio.create_task(pool.pool.rewrite("ann", b"arrow", MANY, at_no_charge)) for _ in range(100)]
            done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            return [task.exception() for task in done]

        refused = pool.run(attempt())

        assert len(refused) >= 36
        assert all(isinstance(each, ParsersBusyError) for each in refused)
        assert read(pool.rewrite(rows())[0]).num_rows == 3

    def test_a_job_that_is_cancelled_leaves_no_process(self, pool: Parsers) -> None:
        async def attempt() -> int:
            task = asyncio.create_task(pool.pool.rewrite("ann", b"arrow", MANY, at_no_charge))
            process = await pool.parser()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await pool.pool.rewrite(
                "ann", b"arrow", [rows()], at_no_charge
            )  # the launcher ends the previous parser before it starts the next
            return process

        process = pool.run(attempt())

        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


class LyingLauncher(LauncherProcess):
    """A launcher whose parsers return the answers that the test sets."""

    def __init__(self, answer: bytes) -> None:
        super().__init__(ParserLimits())
        self.answer = answer

    @override
    async def start(self) -> None:
        """Start nothing."""

    @override
    def begin(self, file: int | None = None) -> tuple[int, socket.socket]:
        """Answer as soon as a document has arrived."""
        mine, theirs = socket.socketpair()
        threading.Thread(target=self._lie, args=(theirs,), daemon=True).start()
        mine.setblocking(False)  # noqa: FBT003 - a C function without keywords
        return 1, mine

    def _lie(self, job: socket.socket) -> None:
        with job:
            job.recv(DOCUMENT.size + len(rows()), socket.MSG_WAITALL)
            job.sendall(self.answer)


class TestLyingParsers:
    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"\0" * 3,
            ANSWER_HEAD.pack(ParserOutcome.REWRITTEN, 1 << 50),
            ANSWER_HEAD.pack(ParserOutcome.UNREADABLE, 1 << 30),
            ANSWER_HEAD.pack(200, 4) + b"abcd",
            ANSWER_HEAD.pack(ParserOutcome.REWRITTEN, 100) + b"short",
        ],
    )
    def test_a_malformed_answer_is_refused(self, answer: bytes) -> None:
        with parsers() as running:
            running.pool._launcher = LyingLauncher(answer)
            with pytest.raises(UnreadableInputError, match="could not be read"):
                running.rewrite(rows())

    def test_a_message_is_one_printable_line(self) -> None:
        text = b"a\nb\x1b[31m\xff"

        with parsers() as running:
            running.pool._launcher = LyingLauncher(ANSWER_HEAD.pack(ParserOutcome.UNREADABLE, len(text)) + text)
            with pytest.raises(UnreadableInputError) as raised:
                running.rewrite(rows())

        assert str(raised.value) == "a?b?[31m\ufffd"


@linux
class TestRestrictions:
    def test_a_parser_has_limits_and_one_thread(self, pool: Parsers) -> None:
        async def look(place: Path) -> tuple[dict[str, str], str]:
            return _limits(place), (place / "status").read_text()

        limits, status = pool.run(_look(pool, look))

        assert limits["Max core file size"] == limits["Max file size"] == limits["Max processes"] == "0"
        assert limits["Max cpu time"] == "10"
        assert int(limits["Max address space"]) < 2048 * MEBIBYTE
        assert int(limits["Max data size"]) < 1024 * MEBIBYTE
        assert "NoNewPrivs:\t1" in status
        assert "Threads:\t1" in status

    @root
    def test_a_parser_has_no_files_and_no_environment(self, pool: Parsers) -> None:
        async def look(place: Path) -> tuple[list[str], bytes, str]:
            files = sorted(str(file.readlink()) for file in (place / "fd").iterdir())
            return files, (place / "environ").read_bytes(), (place / "oom_score_adj").read_text()

        files, environment, score = pool.run(_look(pool, look))

        assert [file.partition(":")[0] for file in files] == ["/dev/null", "/dev/null", "socket"]
        assert b"PATH=" not in environment.replace(b"PYTHONPATH=", b"")
        assert score.strip() == "1000"

    @root
    def test_a_parser_has_no_data_of_another_job_in_its_memory(self, pool: Parsers) -> None:
        """Data of one client is never in the memory of the process that reads data of another client."""
        secret = b"a secret of ann, " * 1000
        pool.rewrite(column(pa.array([secret])))

        async def look() -> bytes:
            await pool.settle()
            task = asyncio.create_task(pool.pool.rewrite("bob", b"arrow", MANY, at_no_charge))
            process = await pool.parser()
            os.kill(process, signal.SIGSTOP)
            memory = await asyncio.to_thread(_memory, process)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return memory

        assert b"a secret of ann, a secret" not in pool.run(look())


async def _look(pool: Parsers, look: Callable[[Path], Awaitable[T]]) -> T:
    """Return the observation of a parser that has restricted itself."""
    await pool.settle()
    task = asyncio.create_task(pool.pool.rewrite("ann", b"arrow", MANY, at_no_charge))
    place = Path("/proc") / str(await pool.parser())
    for _ in range(1000):  # the last limit that the parser sets
        if _limits(place)["Max address space"] != "unlimited":
            break
        await asyncio.sleep(0.01)
    seen = await look(place)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return seen


def _limits(process: Path) -> dict[str, str]:
    """Return the soft limits of a process by name."""
    lines = (process / "limits").read_text().splitlines()[1:]
    return {line[:26].strip(): line[26:47].strip() for line in lines}


def _memory(process: int) -> bytes:
    """Return the writable memory of a stopped process."""
    found = b""
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            place, rights = line.split()[:2]
            if rights.startswith("rw"):
                start, end = (int(each, 16) for each in place.split("-"))
                memory.seek(start)
                found += memory.read(end - start)
    return found


def test_a_pool_works_on_several_loops_in_turn() -> None:
    for _ in range(2):
        pool = ParserPool()

        async def once(used: ParserPool = pool) -> bytes:
            return (await used.rewrite("ann", b"arrow", [rows()], at_no_charge))[0]

        try:
            assert read(asyncio.run(once())).num_rows == 3
        finally:
            pool.close()


PARENT = """
import asyncio, sys, time
from headgate.untrusted_input.pool import ParserPool
async def main():
    pool = ParserPool()
    await pool.start()
    print(pool.launcher_pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def test_the_launcher_ends_with_its_parent() -> None:
    with subprocess.Popen((sys.executable, "-c", PARENT), stdout=subprocess.PIPE, text=True) as parent:
        launcher = int(parent.stdout.readline() if parent.stdout else 0)
        os.kill(launcher, 0)
        parent.kill()

    for _ in range(500):
        command = ("ps", "-o", "stat=", "-p", str(launcher))
        state = subprocess.run(command, capture_output=True, check=False).stdout
        if state.strip()[:1] in {b"", b"Z"}:
            return
        time.sleep(0.02)
    pytest.fail("the launcher has not ended")
