"""Threads that wait for parsers: each gets its own result, and the work of one owner does not delay that of another."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from headgate.untrusted_input.blocking_pool import BlockingPool
from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.limits import MEBIBYTE, ParserLimits
from headgate.untrusted_input.manifest_answers import unpack_manifests
from headgate.untrusted_input.purposes import SMALLER_FILES
from tests.avro_files import LIST, avro, listed
from tests.untrusted_input.parsers import at_no_charge

SLOW = json.dumps([[each] for each in range(300_000)]).encode()


@pytest.fixture(scope="module")
def files() -> Iterator[BlockingPool]:
    pool = BlockingPool()
    yield pool
    pool.close()


def names(pool: BlockingPool, *paths: str, owner: str = "ann") -> list[str]:
    """Return the manifests in one manifest list per path, as parsers read them."""
    lists = [avro(LIST, 1, listed(path)) for path in paths]
    answers = pool.rewrite(owner, b"list", lists, at_no_charge)
    return [each.path for answer in answers for each in unpack_manifests(answer)]


def test_no_process_is_started_before_the_first_document() -> None:
    assert BlockingPool().launcher_pid is None


def test_each_of_several_threads_gets_its_own_answers(files: BlockingPool) -> None:
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda each: names(files, f"{each}a", f"{each}b", owner=str(each)), range(20)))

    assert answers == [[f"{each}a", f"{each}b"] for each in range(20)]


def test_a_document_of_another_kind_is_not_read(files: BlockingPool) -> None:
    for kind in (b"arrow", b"other"):
        with pytest.raises(UnreadableInputError, match="the file could not be read"):
            files.rewrite("ann", kind, [b"{}"], at_no_charge)


def test_a_launcher_that_ended_is_started_again(files: BlockingPool) -> None:
    names(files, "a")
    ended = files.launcher_pid
    assert ended is not None
    os.kill(ended, signal.SIGKILL)
    os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)

    assert names(files, "b") == ["b"]
    assert files.launcher_pid != ended


def test_a_parser_that_takes_too_long_is_ended() -> None:
    pool = BlockingPool(ParserLimits(wall_seconds=0.2))
    names(pool, "a")

    with pytest.raises(OversizedInputError, match="the file takes too long to read; write smaller files"):
        pool.rewrite("ann", b"json", [SLOW] * 50, at_no_charge)

    assert names(pool, "a") == ["a"]
    pool.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces this limit")
def test_a_parser_that_needs_too_much_memory_is_ended() -> None:
    pool = BlockingPool(ParserLimits(memory_bytes=8 * MEBIBYTE))

    with pytest.raises((OversizedInputError, UnreadableInputError), match="memory"):
        pool.rewrite("ann", b"json", [SLOW], at_no_charge)

    assert names(pool, "a") == ["a"]
    pool.close()


def test_waiting_documents_of_one_owner_are_bounded() -> None:
    pool = BlockingPool()
    names(pool, "a")

    with ThreadPoolExecutor(40) as threads:
        jobs = [threads.submit(pool.rewrite, "ann", b"json", [SLOW], at_no_charge) for _ in range(40)]
        started = time.monotonic()
        assert names(pool, "b", owner="bob") == ["b"]
        assert time.monotonic() - started < 20
        failures = [job.exception() for job in jobs]

    assert (
        len([each for each in failures if isinstance(each, ParsersBusyError)]) == 40 - SMALLER_FILES.waiting_per_owner
    )
    assert failures.count(None) == SMALLER_FILES.waiting_per_owner
    pool.close()


def test_a_pool_that_was_closed_has_no_process_and_starts_again() -> None:
    pool = BlockingPool()
    names(pool, "a")
    process = pool.launcher_pid
    assert process is not None

    pool.close()
    for _ in range(500):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    else:
        pytest.fail("the launcher has not ended")

    assert names(pool, "b") == ["b"]
    pool.close()


def test_a_job_of_a_pool_that_closes_ends() -> None:
    pool = BlockingPool()
    jobs = [pool.submit("ann", b"json", [SLOW] * 50, at_no_charge) for _ in range(3)]

    pool.close()

    for each in jobs:
        with pytest.raises(CancelledError):
            each.result(timeout=20)


LOADED = """
import sys
sys.modules["numpy"] = None
from headgate.untrusted_input.rewriters import Family, load_rewriters
from headgate.untrusted_input.parser import serve
load_rewriters(Family.FILES)
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"pyarrow", "pyiceberg", "fastavro", "pydantic", "asyncio"}))
"""


def test_the_parsers_of_files_load_no_other_avro_reader() -> None:
    loaded = subprocess.run((sys.executable, "-c", LOADED), capture_output=True, check=True, text=True)

    assert loaded.stdout.strip() == ""
