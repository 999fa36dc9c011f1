"""Drivers without the JVM's optimizing compiler: a driver of a test lives for a minute or two.

In that time the compiler uses more of the processor than its code saves. The soak run and the fuzzer use the compiler, as users do.

As a program it is the command line: `python -m tests.short_lived_drivers serve ...`, in the root of the repository.
"""

import sys
from typing import Final

from headgate.spark.driver import sandbox
from headgate.spark.driver.config import DriverSettings, java_command

PROGRAM: Final = (sys.executable, "-m", "tests.short_lived_drivers")
QUICK_COMPILER: Final = ("-XX:TieredStopAtLevel=1", "-XX:ParallelGCThreads=1")
"""One thread collects garbage, because several wait for each other on busy processors."""


def use_quick_compiler() -> None:
    """Start the drivers of this process without the optimizing compiler from now on."""
    sandbox.java_command = _quick_java_command


def is_compiler_quick() -> bool:
    """Whether the drivers of this process start without the optimizing compiler."""
    return sandbox.java_command is _quick_java_command


def _quick_java_command(settings: DriverSettings) -> tuple[str, ...]:
    java, *arguments = java_command(settings)
    return (java, *QUICK_COMPILER, *arguments)


if __name__ == "__main__":
    from headgate.cli import main

    use_quick_compiler()
    main()
