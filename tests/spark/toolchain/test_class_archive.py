"""The class-data archive: its path, its build, and a driver that uses it."""

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headgate.spark.toolchain.class_archive import archive_path, build_archive
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.jars import classpath
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.driver_harness import DriverHarness

WRITES = """
for option in "$@"; do
    case "$option" in
        -XX:ArchiveClassesAtExit=*) echo classes > "${option#*=}" ;;
        -XX:SharedArchiveFile=*) [ "$2" = "$option" ] && [ "$3" = -Xshare:dump ] && echo base > "${option#*=}" ;;
    esac
done
true
"""
"""A Java that writes the archives that its options name."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a Java installation whose Java does nothing."""
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    (home / "lib" / "modules").write_text("classes of Java")
    program(home, "true")
    return home


@pytest.fixture
def guard(tmp_path: Path) -> Path:
    jar = tmp_path / "guard.jar"
    jar.write_text("guard")
    return jar


def program(home: Path, script: str) -> None:
    (home / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n")
    (home / "bin" / "java").chmod(0o755)


def read_pid(file: Path) -> int:
    """Return the process id in a file, once it is written."""
    while not file.exists() or not file.read_text().endswith("\n"):
        time.sleep(0.01)
    return int(file.read_text())


def build(home: Path, guard: Path, cache: Path) -> Path:
    java = home / "bin" / "java"
    archive = archive_path(java, (guard,), cache)
    asyncio.run(build_archive(java, (guard,), archive))
    return archive


def test_each_java_and_each_set_of_jars_has_its_own_archive(home: Path, guard: Path, tmp_path: Path) -> None:
    def paths() -> Iterator[Path]:
        yield archive_path(home / "bin" / "java", (guard,), tmp_path)
        os.utime(guard, (1, 1))
        yield archive_path(home / "bin" / "java", (guard,), tmp_path)
        (home / "lib" / "modules").write_text("classes of another Java")
        yield archive_path(home / "bin" / "java", (guard,), tmp_path)

    assert len(set(paths())) == 3


def test_the_path_of_the_archive_does_not_need_the_modules_of_java(home: Path, guard: Path, tmp_path: Path) -> None:
    """A Java can be a script that starts another one, as macOS and managers of versions have it."""
    (home / "lib" / "modules").unlink()

    assert archive_path(home / "bin" / "java", (guard,), tmp_path).name == "driver.jsa"


def test_the_archive_and_its_base_are_the_only_files_that_a_build_leaves(
    home: Path, guard: Path, tmp_path: Path
) -> None:
    program(home, WRITES)

    archive = build(home, guard, tmp_path / "cache")

    assert archive.read_text() == "classes\n"
    assert sorted(path.name for path in archive.parent.iterdir()) == ["driver.jsa", "java.jsa"]


def test_the_error_of_a_failed_build_has_the_last_line_of_java(home: Path, guard: Path, tmp_path: Path) -> None:
    program(home, "echo no memory; exit 1")

    with pytest.raises(ToolchainError, match=r"(?s)drivers start without it.*no memory"):
        build(home, guard, tmp_path / "cache")

    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_an_archive_that_a_failing_java_has_written_is_not_kept(home: Path, guard: Path, tmp_path: Path) -> None:
    program(home, WRITES + 'case "$3" in -Xshare:dump) ;; *) echo port in use; exit 1 ;; esac')

    with pytest.raises(ToolchainError, match="port in use"):
        build(home, guard, tmp_path / "cache")

    assert not list((tmp_path / "cache").rglob("driver.jsa"))


def test_the_error_of_an_unusable_cache_says_that_drivers_start_without_the_archive(
    home: Path, guard: Path, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("")

    with pytest.raises(ToolchainError, match="cannot be built"):
        build(home, guard, tmp_path / "cache")


def test_a_cache_keeps_the_three_latest_archives(home: Path, guard: Path, tmp_path: Path) -> None:
    program(home, WRITES)
    cache, built = tmp_path / "cache", list[Path]()

    for number in range(5):
        os.utime(guard, (number, number))
        built.append(build(home, guard, cache))
        os.utime(built[-1], (number, number))

    assert [archive.exists() for archive in built] == [False, False, True, True, True]


def test_a_build_deletes_what_a_killed_one_has_left(home: Path, guard: Path, tmp_path: Path) -> None:
    program(home, WRITES)
    folder = archive_path(home / "bin" / "java", (guard,), tmp_path / "cache").parent
    old, recent = folder / "building-old", folder / "building-recent"
    old.mkdir(parents=True)
    recent.mkdir()
    os.utime(old, (1, 1))

    build(home, guard, tmp_path / "cache")

    assert (old.exists(), recent.exists()) == (False, True)


def test_a_cancelled_build_ends_its_java(home: Path, guard: Path, tmp_path: Path) -> None:
    program(home, f"echo $$ > {tmp_path}/pid; exec sleep 60")
    java = home / "bin" / "java"

    async def cancel() -> int:
        archive = archive_path(java, (guard,), tmp_path / "cache")
        building = asyncio.create_task(build_archive(java, (guard,), archive, niceness=19))
        pid = await asyncio.to_thread(read_pid, tmp_path / "pid")
        assert os.getpriority(os.PRIO_PROCESS, pid) == 19
        building.cancel()
        with suppress(asyncio.CancelledError):
            await building
        return pid

    pid = asyncio.run(cancel())

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.spark
def test_a_driver_maps_the_archive_into_its_memory(lake: DriverHarness) -> None:
    maps = Path(f"/proc/{lake.driver.pid}/maps")
    if not maps.exists():
        pytest.skip("this system does not list the mapped files of a process")

    assert "driver.jsa" in maps.read_text()


@pytest.mark.spark
@pytest.mark.parametrize("agent", [True, False], ids=["with the agent", "without it"])
def test_a_class_that_the_agent_changes_does_not_come_from_the_archive(toolchain: Toolchain, *, agent: bool) -> None:
    """The class has no main method: Java loads it, and then fails."""
    changed = "org.apache.spark.rdd.UnionRDD"
    options = [f"-javaagent:{toolchain.guard_jar}"] if agent else []

    loaded = subprocess.run(
        [
            *(str(toolchain.java), f"-XX:SharedArchiveFile={toolchain.class_archive}", "-XX:+UseParallelGC"),
            *("-Xlog:class+load", *options, "-cp", classpath(toolchain.jars), changed),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    ).stdout

    sources = {
        name: source
        for line in loaded.splitlines()
        for name, _, source in [line.partition("] ")[2].partition(" source: ")]
    }
    assert sources["org.apache.spark.rdd.RDD"] == "shared objects file (top)"
    assert (sources[changed] == "shared objects file (top)") is not agent
