"""Tasks of the embedded driver load no class from the driver itself, because that could deadlock."""

from pathlib import Path

import pytest

from headgate.spark.driver.config import OPENED
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.programs import run_program

pytestmark = pytest.mark.spark

PROGRAM = r"""
package org.apache.spark

object Loaders extends App {
  val conf = new SparkConf().setMaster("local[1]").setAppName("loaders").set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
  val spark = new SparkContext(conf)
  val classes = spark.env.rpcEnv.fileServer.addDirectory("/classes", new java.io.File(args(0)))

  println(JobArtifactSet.withActiveJobArtifactState(JobArtifactState("session", Some(classes)))(
    spark.range(0, 1, 1, 1).map(_ => Iterator.iterate(Thread.currentThread.getContextClassLoader)(_.getParent)
      .takeWhile(_ != null).exists(_.getClass.getSimpleName == "ExecutorClassLoader")).collect().head))
  sys.exit(0)
}
"""


@pytest.mark.parametrize(("agent", "loads"), [(True, "false"), (False, "true")], ids=["with the agent", "without it"])
def test_a_task_loads_no_class_from_the_folder_of_its_session(
    toolchain: Toolchain, tmp_path: Path, loads: str, *, agent: bool
) -> None:
    opened = (f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED)
    agents = [f"-javaagent:{toolchain.guard_jar}"] if agent else []

    said = run_program(
        toolchain, tmp_path, PROGRAM, "org.apache.spark.Loaders", *opened, *agents, argument=str(tmp_path)
    )

    assert said.split() == [loads]
