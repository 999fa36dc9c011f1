"""The setup reports each missing program in one line, and installs exactly the versions of the lock file."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = (
    "requirements.lock",
    *(f"requirements-{group}.lock" for group in ("build", "bench", "mutate", "release", "client")),
)

_LOCKED = re.compile(r"[a-z0-9][a-z0-9._-]*==\S+( ; .+)? \\")
_HASH = re.compile(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?")
_COMMENT = re.compile(r" *#.*")


class TestFindingPython:
    @pytest.fixture
    def bare_path(self, tmp_path: Path) -> str:
        """A PATH with the programs that the script needs, and without Python."""
        dirname = shutil.which("dirname")
        assert dirname
        (tmp_path / "dirname").symlink_to(dirname)
        return str(tmp_path)

    def setup(self, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "tools/setup"], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
        )

    def test_setup_says_what_to_install_when_there_is_no_python(self, bare_path: str) -> None:
        ended = self.setup(PATH=bare_path)

        assert ended.returncode == 1
        assert ended.stderr.startswith("setup: no Python 3.11 or newer found: install one")
        assert ended.stderr.count("\n") == 1

    def test_setup_does_not_replace_a_python_that_was_named(self, bare_path: str) -> None:
        ended = self.setup(PATH=bare_path, PYTHON="python2")

        assert ended.returncode == 1
        assert ended.stderr.startswith("setup: `python2` is not a Python 3.11 or newer")


class TestMake:
    def test_make_without_a_target_lists_every_target(self) -> None:
        make = shutil.which("make")
        if make is None:
            pytest.skip("`make` is not on PATH")
        targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

        # The tests may run under make, and a nested make prints the folder that it enters.
        listed = subprocess.run(
            [make, "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout

        assert {line.split()[1] for line in listed.splitlines()} == targets
        assert targets >= {"setup", "demo", "test", "soak", "check", "serve", "bench"}


class TestLocks:
    @pytest.mark.parametrize("lock", LOCKS)
    def test_a_lock_holds_packages_with_hashes_and_no_place_to_fetch_from(self, lock: str) -> None:
        lines = (ROOT / lock).read_text().splitlines()

        strange = [line for line in lines if not any(kind.fullmatch(line) for kind in (_LOCKED, _HASH, _COMMENT))]

        assert strange == []

    def test_the_locks_cover_every_dependency_of_the_project(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        groups = project["dependency-groups"]
        named = [
            *project["project"]["dependencies"],
            *groups["dev"],
            *groups["build"],
            *groups["bench"],
            *groups["mutate"],
            *groups["release"],
            *groups["client"],
        ]

        locked = {line.split("==")[0] for lock in LOCKS for line in (ROOT / lock).read_text().splitlines()}

        assert {re.split(r"[\[<>=~ ]", one)[0] for one in named} <= locked


class TestTrackedFiles:
    def test_tracked_files_name_no_place_to_fetch_packages_from(self) -> None:
        """The sources of packages are configured on the machine, in the settings of pip and Maven."""
        option = re.compile(r"--(?:extra-)?index-url|--find-links|--trusted-host|--repositories|index_url *=")
        host = re.compile(r"https?://(?:[\w-]+\.)*(?:files|index|mirror|packages|registry|repo\d*)\.[\w.-]+")

        found = [name for name, text in tracked() if option.search(text) or host.search(text)]

        assert found in ([], ["tests/repo/test_setup.py"])

    def test_tracked_files_hold_no_path_of_the_machine_they_were_written_on(self) -> None:
        personal = re.compile(r"(?<![\w.])/(?:root|home/\w+|Users/\w+)/")

        found = [name for name, text in tracked() if personal.search(text)]

        assert found == []


def tracked() -> list[tuple[str, str]]:
    """Return name and text of every text file under version control."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    names = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in names.split("\0") if name]
    texts = ((path, path.read_bytes()) for path in paths if path.is_file())
    return [(str(path.relative_to(ROOT)), body.decode()) for path, body in texts if b"\0" not in body]
