"""Two independent layers protect files and addresses.

The guard's lists protect them without a sandbox, and the sandbox without the lists.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headgate.sandbox import SandboxLevel
from headgate.sandbox.launch import sandbox_command
from headgate.spark.driver.config import OPENED, DriverSandbox, DriverSettings, environment
from headgate.spark.driver.ports import DriverPorts, SessionPorts
from headgate.spark.driver.sandbox import driver_policy
from headgate.spark.toolchain.jars import classpath
from headgate.spark.toolchain.prepare import Toolchain
from tests.connect_fuzzer.canaries import Canaries, watched
from tests.sandbox.levels import require_full
from tests.sandbox.refusals import REFUSAL
from tests.spark.guard.driver_harness import ADMIN, settings, world
from tests.spark.guard.programs import compile_program

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

REFUSED: Final = "42501"
NO_SANDBOX: Final = DriverSandbox()
PLAIN: Final = """
import org.apache.spark.sql.SparkSession

/** Spark without a guard: runs each line that it reads, and says how that ended, with every cause of an error. */
object Plain {
  def main(arguments: Array[String]): Unit = {
    val spark = SparkSession.builder().getOrCreate()
    println("ready")
    for (line <- scala.io.Source.stdin.getLines()) println(endOf(spark, line))
  }

  private def endOf(spark: SparkSession, line: String): String =
    try { spark.sql(line).collect(); "done" }
    catch { case error: Throwable => causes(error).map(firstLine).mkString(" <- ") }

  private def causes(error: Throwable): Iterator[Throwable] = Iterator.iterate(error)(_.getCause).takeWhile(_ != null)

  private def firstLine(error: Throwable): String = error.toString.linesIterator.nextOption().getOrElse("failed")
}
"""
_XSD: Final = "from_xml('<r><a>1</a></r>', 'a STRING', map('rowValidationXSDPath', '{file}'))"
_COMPUTED: Final = _XSD.replace("'rowValidationXSDPath'", "concat('rowvalidation', 'xsdpath')")
_QUOTED: Final = f"to_json({_XSD})".replace("'", r"\'")
_SCHEMA: Final = (
    '{{"type": "struct", "fields": [{{"name": "a", "type": "integer", "nullable": true, "metadata": {{}}}}, '
    '{{"name": "b", "type": "string", "nullable": true, "metadata": {{"EXISTS_DEFAULT": "DEFAULT"}}}}]}}'
)
FILES: Final = {
    "a schema of XML": f"SELECT {_XSD}",
    "a schema of XML by a computed key": f"SELECT {_COMPUTED}",
    "a schema of XML that is explained": f"EXPLAIN SELECT {_XSD}",
    "a default in a schema": "SELECT from_csv('1', '" + _SCHEMA.replace('"DEFAULT"', f'"{_QUOTED}"') + "')",
    "rows of text": "SELECT * FROM text.`{file}`",
    "bytes": "SELECT * FROM binaryFile.`{file}`",
    "a view of CSV": "CREATE OR REPLACE TEMPORARY VIEW v USING csv OPTIONS (path '{file}', inferSchema 'true')",
    "a file for tasks": "ADD FILE '{file}'",
}
ADDRESSES: Final = {
    "a database": (
        "CREATE OR REPLACE TEMPORARY VIEW v USING jdbc OPTIONS (url 'jdbc:postgresql://127.0.0.1:{port}/x', dbtable 't')"
    ),
    "a schema of XML of a web server": f"SELECT {_XSD}".replace("{file}", "http://127.0.0.1:{port}/x.xsd"),
    "a description of a schema of a web server": (
        "SELECT schema_of_xml('<r><a>1</a></r>', map('rowValidationXSDPath', 'http://127.0.0.1:{port}/x.xsd'))"
    ),
}
ATTACKS: Final = ADDRESSES | FILES
"""The attack on a file that tasks open comes last: each later task of its session requests the file."""
SILENT: Final = frozenset(("a schema of XML that is explained", "a description of a schema of a web server"))
"""Attacks that Spark answers without naming the file or address that it could not open."""


class Target:
    """The file and the port that the attacks aim at."""

    def __init__(self, folder: Path, canaries: Canaries) -> None:
        self.folder = folder
        self._canaries = canaries

    def statement(self, attack: str) -> str:
        """Return the attack's statement."""
        self._canaries.touched()
        return ATTACKS[attack].format(file=self.folder / "owner.token", port=self.port)

    @property
    def port(self) -> int:
        """The port of the target address."""
        return self._canaries.port

    def was_reached(self) -> bool:
        """Return whether the last attack opened the file or connected to the port. Call it once for each attack."""
        return bool(self._canaries.touched())


@contextmanager
def target_in(folder: Path) -> Iterator[Target]:
    """Create a target whose file is in a folder, and watch it.

    Listing the folder does not count as reaching the target.
    """
    (folder / "owner.token").write_text("secret\n", encoding="utf-8")
    with watched({folder / "owner.token": "the token"}) as canaries:
        yield Target(folder, canaries)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with target_in(tmp_path_factory.mktemp("target")) as made:
        yield made


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """Return a target that the policy of the sandbox allows."""
    with target_in(tmp_path_factory.mktemp("listed")) as made:
        yield made


class PlainSpark:
    """Spark without the guard, with or without the sandbox of a driver."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert self._answer() == "ready"

    def run(self, statement: str) -> str:
        """Run a statement and return its outcome."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{statement}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module")
def program(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    compile_program(toolchain, folder, PLAIN)
    return folder


@contextmanager
def plain_spark(
    toolchain: Toolchain, program: Path, folder: Path, sandbox: DriverSandbox = NO_SANDBOX
) -> Iterator[PlainSpark]:
    """Run Spark without a guard, in the sandbox of a driver that also allows the folder and the program."""
    made_with, ports = settings(toolchain, folder, ""), SessionPorts().take()
    sandbox = replace(sandbox, writes=(folder,), reads=(program, *sandbox.reads))
    made_with = replace(made_with, sandbox=sandbox)
    made_with.scratch.mkdir(parents=True)
    command = sandbox_command(_command(made_with, program, ports), driver_policy(made_with, ports), sandbox.level)
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment(made_with.cluster),
            cwd=made_with.scratch,
        ) as process,
    ):
        try:
            yield PlainSpark(process)
        finally:
            process.kill()


def _command(made_with: DriverSettings, program: Path, ports: DriverPorts) -> Sequence[str]:
    conf = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.port": str(ports.driver),
        "spark.blockManager.port": str(ports.blocks),
        "spark.local.dir": str(made_with.scratch),
        "spark.sql.warehouse.dir": str(made_with.scratch / "tables"),
        # Hadoop's file system starts programs, so the sandbox would prevent even Spark from writing its own files.
        "spark.hadoop.fs.file.impl": "io.headgate.guard.files.LocalFiles",
    }
    return (
        str(made_with.tools.java),
        f"-Djava.io.tmpdir={made_with.scratch}",
        *(f"-D{name}={value}" for name, value in conf.items()),
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        "-cp",
        classpath((program, made_with.tools.guard_jar, made_with.tools.postgresql_jar)),
        "Plain",
    )


@pytest.fixture(scope="module")
def unguarded(toolchain: Toolchain, program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainSpark]:
    with plain_spark(toolchain, program, tmp_path_factory.mktemp("unguarded")) as spark:
        yield spark


@pytest.fixture(scope="module")
def sandboxed(
    toolchain: Toolchain, program: Path, listed: Target, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PlainSpark]:
    require_full()
    sandbox = DriverSandbox(SandboxLevel.FULL, reads=(listed.folder,), connects=(listed.port,))
    with plain_spark(toolchain, program, tmp_path_factory.mktemp("sandboxed"), sandbox) as spark:
        yield spark


@pytest.fixture(scope="module")
def guarded(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with world(toolchain, tmp_path_factory.mktemp("guarded"), sandbox=NO_SANDBOX) as opened:
        yield opened.session(ADMIN)


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_succeeds_without_both_layers(unguarded: PlainSpark, target: Target, attack: str) -> None:
    ended = unguarded.run(target.statement(attack))

    assert target.was_reached(), ended


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_sandbox_alone_refuses_every_attack(
    sandboxed: PlainSpark, target: Target, listed: Target, attack: str
) -> None:
    allowed = sandboxed.run(listed.statement(attack))
    assert listed.was_reached(), f"in the sandbox the attack does not even reach the allowed target: {allowed}"

    ended = sandboxed.run(target.statement(attack))

    assert not target.was_reached(), ended
    assert ended == "done" if attack in SILENT else REFUSAL.search(ended), ended


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_lists_alone_refuse_every_attack(guarded: SparkSession, target: Target, attack: str) -> None:
    assert guarded.sql("SELECT 1").collect()

    with pytest.raises(PySparkException) as refused:
        guarded.sql(target.statement(attack)).collect()

    assert refused.value.getSqlState() == REFUSED
    assert not target.was_reached()
