"""Shared set-up of all tests: the order of the tests, and skips or failures on a machine where Spark cannot start."""

import asyncio
import fcntl
import gc
import hashlib
import os
import ssl
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from httpx import create_ssl_context
from typer.main import get_command

from headgate.control.kernel.log_follower import LogFollower
from headgate.control.kernel.ports import LogWrite
from headgate.decision.evaluator import Answers
from headgate.facts.consistency import find_inconsistency
from headgate.facts.fold import apply
from headgate.facts.ids import ResourceId
from headgate.lake.metadata_files import MetadataFile, MetadataFiles
from headgate.spark.toolchain.class_archive import build_archive
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.prepare import Toolchain, default_cache, default_jars_folder, prepare
from tests.driver_logs import driver_log_tails
from tests.lake.java import java_reader
from tests.short_lived_drivers import use_quick_compiler

IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}
"""Whether the tests run under CI.

In CI a missing tool fails the tests, because the list of skipped tests is not read there.
"""

pytest_plugins = ["tests.postgres"]

SPARK_TIMEOUT = 300
SOAK_TIMEOUT = 3600
"""Seconds. `tools/soak` reports which part took longer than expected."""
_COST = ("spark", "soak")
_TESTS = Path(__file__).parent
_SPARK = "spark"
_FAST_ON_SPARK = frozenset(("pipelines",))
"""The folders whose tests on Spark are in the fast half, after its fast tests, so that both halves take equally long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update`, which writes generated files instead of comparing them, and `--half`."""
    parser.addoption("--update", action="store_true", help="write generated files again instead of comparing them")
    parser.addoption(
        "--half",
        choices=("fast", _SPARK),
        help="run only one half of the tests; the two halves can run at the same time",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules without tests on Spark for the half of those tests; None: pytest decides."""
    if config.getoption("--half") != _SPARK or collection_path.suffix != ".py":
        return None
    has_tests = f"mark.{_SPARK}" in collection_path.read_text(encoding="utf-8")
    return None if has_tests and not _is_fast_on_spark(collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the fast tests first, and set longer timeouts for the long tests and the tests on Spark."""
    unmarked = {item.path.name for item in items if _uses_spark(item) and item.get_closest_marker(_SPARK) is None}
    if unmarked:
        raise pytest.UsageError(
            f"tests of {', '.join(sorted(unmarked))} use Spark; mark them with `pytest.mark.{_SPARK}`"
        )
    half = config.getoption("--half")
    if half is not None:
        left_out = [item for item in items if _half(item) != half]
        items[:] = [item for item in items if _half(item) == half]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=_cost)
    for item in items:
        if _cost(item) and item.get_closest_marker("timeout") is None:
            is_soak = item.get_closest_marker("soak") is not None
            item.add_marker(pytest.mark.timeout(SOAK_TIMEOUT if is_soak else SPARK_TIMEOUT))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test on Spark if Spark cannot be started; under `CI`, fail the test."""
    if item.get_closest_marker("spark") is None:
        return
    # PySpark's client ends a session that the garbage collector finds, and may then deadlock.
    gc.disable()
    prepared = _toolchain()
    if isinstance(prepared, Toolchain):
        _build_archive_once(prepared)
        return
    if IN_CI:
        pytest.fail(prepared, pytrace=False)
    pytest.skip(prepared)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the driver's log to the report of a failing test on Spark."""
    report = yield
    if report.failed and item.get_closest_marker("spark") is not None:
        factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
        report.sections += driver_log_tails(factory.getbasetemp(), call.start)
    return report


def pytest_sessionfinish() -> None:
    """Collect the garbage of the tests on Spark, which run with the collector off: the clients' connections end then.

    PySpark would ask the servers to delete models: those of a model that is collected, and at exit those of each client. These
    servers have ended, and a client asks for minutes.
    """
    if (connect := sys.modules.get("pyspark.sql.connect.client.core")) is not None:
        connect.SparkConnectClient.execute_command = lambda *_: None
    if not gc.isenabled():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.fixture
def generated(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Require that a file of the repository equals its generated text; with `--update`, write the text to the file."""

    def held(file: Path, text: str) -> None:
        if request.config.getoption("--update"):
            file.write_text(text, encoding="utf-8")
        assert file.read_text(encoding="utf-8") == text, f"{file.name} is stale; run this test with `--update`"

    return held


@pytest.fixture(scope="session", autouse=True)
def objects_built_once() -> Iterator[None]:
    """Build the command line's parser and the list of trusted certificates once.

    Each takes about 50 ms, and thousands of tests call a command or open a client.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(get_command))
        patch.setattr("httpx._transports.default.create_ssl_context", _shared_ssl_context)
        yield


def _shared_ssl_context(*, verify: ssl.SSLContext | str | bool, **more: Any) -> ssl.SSLContext:
    if verify is not True or more.get("cert") or {"SSL_CERT_FILE", "SSL_CERT_DIR"} & os.environ.keys():
        return create_ssl_context(verify=verify, **more)
    return _default_ssl_context()


@cache
def _default_ssl_context() -> ssl.SSLContext:
    return create_ssl_context()


@pytest.fixture(scope="session", autouse=True)
def committed_tables() -> Iterator[None]:
    """Check at the end of the test run every table and view that tests committed.

    Iceberg's own Java library reads the metadata of all commits of this process.
    """
    written, write = dict[str, str](), MetadataFiles.write

    def recorded(
        pointed: MetadataFiles, id: ResourceId, location: str, base_path: str | None, content: bytes
    ) -> MetadataFile:
        written[hashlib.sha256(content).hexdigest()] = content.decode()
        return write(pointed, id, location, base_path, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MetadataFiles, "write", recorded)
        yield
    prepared = _toolchain() if written else ""
    if isinstance(prepared, Toolchain):
        with java_reader(prepared) as java:
            faults = {fault: each for each in written.values() if (fault := java.fault(each)) is not None}
        assert faults == {}
    elif IN_CI and written:
        pytest.fail(prepared, pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def consistent_changes() -> Iterator[None]:
    """Check that every change that the control plane writes in this process is consistent: only then can an export be read."""
    append = LogFollower.append

    def checked(follower: LogFollower, drafts: Sequence[LogWrite], engine: Answers) -> None:
        facts = follower.followed.engine.facts
        append(follower, drafts, engine)  # raises an error if a draft was decided on older facts
        for change in chain.from_iterable(draft.changes for draft in drafts):
            assert find_inconsistency(facts, change) is None, change
            facts = apply(facts, change)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LogFollower, "append", checked)
        yield


@pytest.fixture(scope="session")
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    """Java, the Iceberg jar and the guard; for tests marked `spark`."""
    prepared = _toolchain()
    assert isinstance(prepared, Toolchain), prepared
    if "not soak" in request.config.option.markexpr:
        use_quick_compiler()
    return prepared


@cache
def _build_archive_once(tools: Toolchain) -> None:
    """Build the class-data archive of drivers if the cache has none; the two halves of the tests wait for each other."""
    tools.class_archive.parent.mkdir(parents=True, exist_ok=True)
    with (tools.class_archive.parent / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tools.class_archive.exists():
            asyncio.run(build_archive(tools.java, tools.jars, tools.class_archive))


@cache
def _toolchain() -> Toolchain | str:
    """Return the toolchain, or the reason why it is not available."""
    try:
        return prepare(default_cache(os.environ), default_jars_folder(os.environ), print)
    except ToolchainError as error:
        return str(error)


def _uses_spark(item: pytest.Item) -> bool:
    return "toolchain" in getattr(item, "fixturenames", ())


def _half(item: pytest.Item) -> str:
    """Return the half of a test. One half waits for Spark, the other for disks and servers: together they use both processors."""
    return "fast" if item.get_closest_marker(_SPARK) is None or _is_fast_on_spark(item.path) else _SPARK


def _is_fast_on_spark(path: Path) -> bool:
    return not _FAST_ON_SPARK.isdisjoint(path.relative_to(_TESTS).parts)


def _cost(item: pytest.Item) -> int:
    """Return 0 for a fast test, and a higher number for a test that starts a JVM or takes minutes."""
    return max((_COST.index(marker.name) + 1 for marker in item.iter_markers() if marker.name in _COST), default=0)
