"""The file server of a driver for executors: it serves only the files of its own folders."""

from pathlib import Path

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.programs import run_program

pytestmark = pytest.mark.spark

PROGRAM = r"""
package org.apache.spark

import java.io.File
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets

import org.apache.spark.rpc.RpcEnv

object Attempts extends App {
  val conf = new SparkConf
  val served = RpcEnv.create("served", "127.0.0.1", 0, conf, new SecurityManager(conf))
  val asking = RpcEnv.create("asking", "127.0.0.1", 0, conf, new SecurityManager(conf))
  val folder = served.fileServer.addDirectory("/artifacts", new File(args(0)))

  for (name <- Seq("own.txt", "a/../own.txt", "../secret.txt", "a/../../secret.txt", "..", "...txt", "../artifacts2/x"))
    println(name + ": " + (try {
      val channel = asking.openChannel(folder + "/" + name)
      val bytes = ByteBuffer.allocate(100)
      while (channel.read(bytes) >= 0) {}
      new String(bytes.array, 0, bytes.position(), StandardCharsets.UTF_8)
    } catch { case error: Throwable => Iterator.iterate(error)(_.getCause).takeWhile(_ != null).mkString(" ").replace('\n', ' ') }))
  sys.exit(0)
}
"""


def test_a_driver_serves_no_file_outside_its_folders(toolchain: Toolchain, tmp_path: Path) -> None:
    folder = tmp_path / "artifacts"
    (folder / "a").mkdir(parents=True)
    (folder / "own.txt").write_text("its own", encoding="utf-8")
    (folder / "...txt").write_text("dots", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("the secret of others", encoding="utf-8")
    agent = f"-javaagent:{toolchain.guard_jar}"

    said = run_program(toolchain, tmp_path, PROGRAM, "org.apache.spark.Attempts", agent, argument=str(folder))

    outcomes = dict(line.split(": ", 1) for line in said.splitlines())
    read = {name: text for name, text in outcomes.items() if "requested a file whose name contains `..`" not in text}
    assert read == {"own.txt": "its own", "...txt": "dots"}
    assert len(outcomes) == 7
