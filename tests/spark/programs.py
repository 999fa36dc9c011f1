"""Programs in Scala, for what only code inside a JVM can try."""

import os
import subprocess
from pathlib import Path

from headgate.spark.jars import spark_jars
from headgate.spark.toolchain import Toolchain


def run_program(toolchain: Toolchain, folder: Path, text: str, main: str, *options: str, argument: str) -> str:
    """Compile a program beside Spark and the guard, run its `main` in a JVM with these options, and return what it prints."""
    source = folder / "Program.scala"
    source.write_text(text, encoding="utf-8")
    java, beside = str(toolchain.java), os.pathsep.join((f"{spark_jars()}{os.sep}*", str(toolchain.guard_jar)))
    compiler = [java, "-cp", beside, "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(folder), str(source)]
    subprocess.run(compiler, check=True, timeout=200)
    jvm = [java, *options, "-cp", f"{folder}{os.pathsep}{beside}", main, argument]
    return subprocess.run(jvm, check=True, timeout=100, capture_output=True, text=True).stdout
