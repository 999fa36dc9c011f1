"""The command line with test code in its drivers: `python -m tests.app.inside_driver FOLDER COMMAND ...`.

The drivers have one more class on their classpath, in FOLDER, which makes the attempts of a test. Otherwise they start
as always.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from headgate.cli import main
from headgate.spark.driver import sandbox
from headgate.spark.driver.config import DriverSettings
from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import Toolchain

SOURCE: Final = Path(__file__).with_suffix(".scala")
WITHIN: Final = 120.0


class InsideDriver:
    """Compiles the class into a folder, and lets the driver that was started with it make attempts."""

    def __init__(self, folder: Path, tools: Toolchain, python: Path = Path(sys.executable)) -> None:
        self.folder, self.python = folder, python
        classpath = os.pathsep.join((f"{spark_jars()}{os.sep}*", str(tools.guard_jar)))
        scala = (str(tools.java), "-cp", classpath, "scala.tools.nsc.Main", "-usejavacp", "-d", str(folder))
        subprocess.run((*scala, str(SOURCE)), check=True, timeout=WITHIN)

    @property
    def command(self) -> tuple[str, ...]:
        """The begin of a Headgate command line."""
        return (str(self.python), "-m", "tests.app.inside_driver", str(self.folder))

    def results(self, attempts: Sequence[Sequence[str]]) -> list[str]:
        """Return the result of each attempt inside the driver."""
        asked, results = _files(self.folder)
        unfinished = asked.with_name("asked")
        unfinished.write_text("\n".join("\t".join(each) for each in attempts), encoding="utf-8")
        unfinished.rename(asked)
        deadline = time.monotonic() + WITHIN
        while not results.exists():
            assert time.monotonic() < deadline, "the driver did not try"
            time.sleep(0.1)
        return results.read_text(encoding="utf-8").split("\n")


def _files(folder: Path) -> tuple[Path, Path]:
    """Return the file of the attempts, and the file of the results in the only folder that the driver may write to."""
    (folder / "out").mkdir(exist_ok=True)
    return folder / "attempts", folder / "out" / "results"


def insert(folder: Path) -> None:
    """Add the class in the folder to the drivers of this process."""
    command, policy = sandbox.java_command, sandbox.driver_policy
    asked, results = _files(folder)

    def with_class(settings: DriverSettings) -> tuple[str, ...]:
        arguments = list(command(settings))
        arguments[arguments.index("-cp") + 1] += f"{os.pathsep}{folder}"
        return (*arguments[:-1], "inside.Driver", str(asked), str(results))

    def with_folder(*arguments: Any) -> Any:
        made = policy(*arguments)
        return replace(made, reads=(*made.reads, str(folder)), writes=(*made.writes, str(results.parent)))

    sandbox.java_command = with_class
    sandbox.driver_policy = with_folder


if __name__ == "__main__":
    insert(Path(sys.argv.pop(1)))
    main()
