"""Drivers that compile bytecode quickly instead of well: a driver of a test lives for a minute or two.

In that time the JVM's optimizing compiler uses more of the processor than its code saves. Nothing else of a driver changes.

As a program it is the command line: `python -m tests.short_lived_drivers serve ...`.
"""

import sys
from typing import Final

from headgate.cli import main
from headgate.spark.driver import sandbox
from headgate.spark.driver.config import DriverSettings, java_command

PROGRAM: Final = (sys.executable, "-m", "tests.short_lived_drivers")
QUICK_COMPILER: Final = "-XX:TieredStopAtLevel=1"


def use_quick_compiler() -> None:
    """Start the drivers of this process without the optimizing compiler from now on."""
    sandbox.java_command = _quick_java_command


def _quick_java_command(settings: DriverSettings) -> tuple[str, ...]:
    java, *arguments = java_command(settings)
    return (java, QUICK_COMPILER, *arguments)


if __name__ == "__main__":
    use_quick_compiler()
    main()
