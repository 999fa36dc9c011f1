"""The guard's jar precedes Spark's jars on the class path, so its classes replace Spark's classes of the same name."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import Toolchain

REPLACED = "org/apache/spark/sql/catalyst/expressions/codegen/BufferHolder.class"


def class_files(jar: Path) -> set[str]:
    """Return the paths of the classes in a jar."""
    with ZipFile(jar) as archive:
        return {name for name in archive.namelist() if name.endswith(".class")}


@pytest.mark.spark
def test_the_guard_replaces_exactly_one_class_of_spark(toolchain: Toolchain) -> None:
    of_spark = set[str]().union(*map(class_files, spark_jars().glob("*.jar")))

    assert class_files(toolchain.guard_jar) & of_spark == {REPLACED}
