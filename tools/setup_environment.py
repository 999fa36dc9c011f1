"""Creates `.venv` with the locked packages and the `headgate` command, then sets up Java, the Iceberg jar and the guard.

`tools/setup` runs it with a Python of the machine, so it uses the standard library only. A current `.venv` is not changed:
a stamp in it has the hash of the locks that it was created from.
"""

import hashlib
import importlib.util
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
HEADGATE = VENV / "bin" / "headgate"
STAMP = VENV / "headgate-setup"
LOG = VENV / "headgate-setup.log"
BUILD_LOCK = ROOT / "requirements-build.lock"
LOCK = ROOT / "requirements.lock"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
WITH_THOSE = ("--no-build-isolation", "--use-pep517")
"""Options of pip: build only with the packages of the build lock, whose hashes are known."""

_LARGE_DOWNLOAD = re.compile(r"Downloading (?:\S*/)?([A-Za-z0-9_.]+)-\d\S* \((\d{2,})\.\d MB\)")
_BUILD = re.compile(r"Building wheel for (pyspark) .*started")
_LINES_SHOWN_ON_FAILURE = 15


def main() -> int:
    """Set up what is missing; return the exit status."""
    wanted = fingerprint()
    if not (STAMP.is_file() and STAMP.read_text() == wanted and runs(PYTHON, "-c", "")):
        make_environment()
        STAMP.write_text(wanted)
    return subprocess.run([HEADGATE, "setup"], cwd=ROOT, check=False).returncode


def fingerprint() -> str:
    """Return the hash of the files from which the environment is created."""
    sources = (BUILD_LOCK, LOCK, ROOT / "pyproject.toml")
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()


def make_environment() -> None:
    """Create `.venv` if it does not run, and install the locked packages and this project into it."""
    if importlib.util.find_spec("ensurepip") is None:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        fail(f"this Python {here} has no `ensurepip`: install its venv package (Debian: apt install python3-venv)")
    say(f"setting up .venv with Python {sys.version.split()[0]}; the first time takes a few minutes")
    if not runs(PYTHON, *PIP, "--version"):
        venv.create(VENV, clear=True, with_pip=True)
    LOG.write_text("")
    install("the build tools", "--require-hashes", "-r", str(BUILD_LOCK))
    install("the locked packages", *WITH_THOSE, "--require-hashes", "-r", str(LOCK))
    install("headgate itself", *WITH_THOSE, "--no-deps", "-e", str(ROOT))


def runs(python: Path, *arguments: str) -> bool:
    """Whether this interpreter starts and runs these arguments without an error."""
    try:
        return subprocess.run([python, *arguments], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def install(what: str, *arguments: str) -> None:
    """Run one `pip install`, and print the steps that take long; exit with its last lines if it fails."""
    say(f"  installing {what}")
    command = [PYTHON, *PIP, "install", "--progress-bar", "off", *arguments]
    with (
        LOG.open("a") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT) as pip,
    ):
        output = pip.stdout or ()
        for line in output:
            log.write(line)
            tell(line)
    if pip.returncode != 0:
        last = LOG.read_text().splitlines()[-_LINES_SHOWN_ON_FAILURE:]
        sys.stderr.writelines(f"  | {line}\n" for line in last)
        fail(f"pip could not install {what}; the whole output is in `{LOG.relative_to(ROOT)}`")


def tell(line: str) -> None:
    """Print the lines of pip that explain a delay."""
    if found := _LARGE_DOWNLOAD.search(line):
        say(f"    downloading {found[1]} ({found[2]} MB)")
    elif found := _BUILD.search(line):
        say(f"    unpacking {found[1]}")


def say(line: str) -> None:
    """Print a line of progress at once."""
    print(line, flush=True)


def fail(message: str) -> NoReturn:
    """Exit with the message."""
    sys.exit(f"setup: {message}")


if __name__ == "__main__":
    sys.exit(main())
