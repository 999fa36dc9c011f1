"""Scala programs for tests of code that runs inside a JVM."""

import os
import subprocess
from pathlib import Path

from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import Toolchain
from tests.short_lived_drivers import QUICK_JVM_OPTIONS


def compile_program(toolchain: Toolchain, folder: Path, text: str) -> None:
    """Compile a program against Spark and the guard into a folder."""
    source = folder / "Program.scala"
    source.write_text(text, encoding="utf-8")
    compiler = (
        str(toolchain.java),
        *QUICK_JVM_OPTIONS,
        "-cp",
        _beside(toolchain),
        "scala.tools.nsc.Main",
        "-usejavacp",
        "-nowarn",
    )
    subprocess.run((*compiler, "-d", str(folder), str(source)), check=True, timeout=200)


def run_program(toolchain: Toolchain, folder: Path, text: str, main: str, *options: str, argument: str) -> str:
    """Compile a program, run its `main` in a JVM with these options, and return its output."""
    compile_program(toolchain, folder, text)
    classpath = f"{folder}{os.pathsep}{_beside(toolchain)}"
    jvm = [str(toolchain.java), *QUICK_JVM_OPTIONS, *options, "-cp", classpath, main, argument]
    return subprocess.run(jvm, check=True, timeout=100, capture_output=True, text=True).stdout


def _beside(toolchain: Toolchain) -> str:
    return os.pathsep.join((f"{spark_jars()}{os.sep}*", str(toolchain.guard_jar)))
