"""The agent that changes classes of Spark ends a driver whose Spark lacks one of these classes or methods."""

import struct
import subprocess
from pathlib import Path

import pytest

from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import Toolchain

CHANGED = "org/apache/spark/rdd/UnionRDD"
JAVA_8 = 52


def write_empty_class(folder: Path, name: str) -> None:
    """Write the class file of a class without methods."""
    names = (name, "java/lang/Object")
    texts = b"".join(struct.pack(">BH", 1, len(each)) + each.encode() for each in names)
    classes = struct.pack(">BHBH", 7, 1, 7, 2)
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, JAVA_8, 5)
    file = folder / f"{name}.class"
    file.parent.mkdir(parents=True)
    file.write_bytes(head + texts + classes + struct.pack(">HHHHHHH", 0x21, 3, 4, 0, 0, 0, 0))


@pytest.mark.spark
@pytest.mark.parametrize(("agent", "status"), [(True, 5), (False, 1)], ids=["with the agent", "without it"])
def test_a_driver_ends_if_a_class_does_not_have_the_method_that_the_agent_changes(
    toolchain: Toolchain, tmp_path: Path, *, agent: bool, status: int
) -> None:
    write_empty_class(tmp_path, CHANGED)
    options = [f"-javaagent:{toolchain.guard_jar}"] if agent else []

    ended = subprocess.run(
        [str(toolchain.java), *options, "-cp", f"{tmp_path}:{spark_jars()}/*", CHANGED.replace("/", ".")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == status, ended.stderr
    assert ("the class has no method that Headgate changes" in ended.stderr) is agent
