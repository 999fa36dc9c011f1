"""Drivers with options of the JVM for a short life: a driver of a test lives for a minute or two.

In that time the optimizing compiler uses more of the processor than its code saves, and several threads that collect garbage
wait for each other. The soak run and the fuzzer use the ordinary options, as users do.

As a program it is the command line: `python -m tests.short_lived_drivers serve ...`, in the root of the repository.
"""

import sys
from typing import Final

from headgate.spark.driver import sandbox
from headgate.spark.driver.config import DriverSettings, java_command

PROGRAM: Final = (sys.executable, "-m", "tests.short_lived_drivers")
QUICK_JVM_OPTIONS: Final = ("-XX:TieredStopAtLevel=1", "-XX:ParallelGCThreads=1")


def use_quick_compiler() -> None:
    """Start the drivers of this process without the optimizing compiler from now on."""
    sandbox.java_command = _quick_java_command


def is_compiler_quick() -> bool:
    """Whether the drivers of this process start without the optimizing compiler."""
    return sandbox.java_command is _quick_java_command


def _quick_java_command(settings: DriverSettings) -> tuple[str, ...]:
    java, *arguments = java_command(settings)
    return (java, *QUICK_JVM_OPTIONS, *arguments)


if __name__ == "__main__":
    from headgate.cli import main

    use_quick_compiler()
    main()
