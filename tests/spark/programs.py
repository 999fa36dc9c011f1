"""Programs in Scala, for what only code inside a JVM can try."""

import os
import subprocess
from pathlib import Path

from headgate.spark.jars import spark_jars
from headgate.spark.toolchain import Toolchain


def run_program(toolchain: Toolchain, folder: Path, text: str, main: str, *options: str, argument: str) -> str:
    """Compile a program beside Spark, run its `main` in a JVM with these options, and return what it prints."""
    source = folder / "Program.scala"
    source.write_text(text, encoding="utf-8")
    java, spark = str(toolchain.java), f"{spark_jars()}{os.sep}*"
    compiler = [java, "-cp", spark, "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(folder), str(source)]
    subprocess.run(compiler, check=True, timeout=200)
    jvm = [java, *options, "-cp", f"{folder}{os.pathsep}{spark}", main, argument]
    return subprocess.run(jvm, check=True, timeout=100, capture_output=True, text=True).stdout
