"""Build a release into `dist/` and check it: wheel, source archive, SBOM and checksums.

Stops at the first failing check, with the remedy. The checks: version and changelog agree; the archives contain the
tracked files; the wheel, installed by pip into a new environment, has allowed licences, runs `headgate demo` and opens data of
earlier releases. Nothing is uploaded or tagged.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.wheels import build, install_wheel

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
ARCHIVES = ROOT / "tests" / "compatibility" / "released"
LICENCES = ROOT / "tools" / "licences.toml"
CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""Classifiers of packages that declare no SPDX identifier."""

_SECTION = re.compile(
    r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}))?\n(?P<text>.*?)(?=^## \[|\Z)", re.MULTILINE | re.DOTALL
)


def main() -> int:
    """Build and check; return the exit status."""
    version = project_version()
    archives = [file.name.removesuffix(".tar.gz") for file in ARCHIVES.glob("*.tar.gz")]
    _require("version and changelog", version_faults(version, (ROOT / "CHANGELOG.md").read_text("utf-8"), archives))
    shutil.rmtree(DIST, ignore_errors=True)
    wheel, source = build(DIST, "wheel"), build(DIST, "sdist")
    _require("files of the archives", [*wheel_faults(wheel, tracked()), *source_faults(source, tracked())])
    with tempfile.TemporaryDirectory(prefix="headgate-release-") as folder:
        _say("installing the wheel into a new environment; this takes some minutes")
        python = _clean_environment(Path(folder, "clean"), wheel)
        bill = DIST / f"headgate-{version}.cdx.json"
        _run(
            sys.executable,
            "-m",
            "cyclonedx_py",
            "environment",
            python,
            "--pyproject",
            ROOT / "pyproject.toml",
            "--output-reproducible",
            "-o",
            bill,
        )
        _require(
            "licences", licence_faults(json.loads(bill.read_text("utf-8")), tomllib.loads(LICENCES.read_text("utf-8")))
        )
        _say("running the demo of the installed wheel")
        _run(
            python.with_name("headgate"),
            "demo",
            "--once",
            "--data",
            Path(folder, "demo"),
            "--api-port",
            "0",
            "--spark-port",
            "0",
        )
        _say("opening the data of earlier releases with the wheel")
        beside_tests = install_wheel(wheel, Path(folder, "upgrade"))
        _run(beside_tests, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/compatibility", "-m", "not soak")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    _say(f"headgate {version} is in {DIST.relative_to(ROOT)}/:\n{''.join(sums)}", end="")
    _say("add the data of this release: python -m tools.released_data")
    return 0


def project_version() -> str:
    """Return the version in `pyproject.toml`."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"])


def version_faults(version: str, changelog: str, archives: Iterable[str]) -> Iterator[str]:
    """Yield the faults of a version, its changelog and the archives of earlier versions that prevent its release."""
    sections = {found["name"]: found for found in _SECTION.finditer(changelog)}
    if sections.get("Unreleased") and sections["Unreleased"]["text"].strip():
        yield f"CHANGELOG.md has entries under `[Unreleased]`; move them to `## [{version}] - YYYY-MM-DD`"
    released = [name for name in sections if name != "Unreleased"]
    if released[:1] != [version]:
        yield f"the newest section of CHANGELOG.md is not `[{version}]`, the version in pyproject.toml; change one of them"
    elif not sections[version]["date"] or not sections[version]["text"].strip():
        yield f"the section `[{version}]` of CHANGELOG.md needs a date (`- YYYY-MM-DD`) and entries"
    for name in released[1:]:
        if name not in archives:
            yield (
                f"tests/compatibility/released has no archive `{name}.tar.gz`, so no upgrade from {name} is tested; "
                f"run `python -m tools.released_data` with the code of {name}"
            )


def wheel_faults(wheel: Path, files: Iterable[str]) -> Iterator[str]:
    """Yield how the files of a wheel differ from the tracked files of the package."""
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    yield from _differences(wheel.name, held, {name.removeprefix("src/") for name in files if name.startswith("src/")})


def source_faults(source: Path, files: Iterable[str]) -> Iterator[str]:
    """Yield how the files of a source archive differ from the tracked files."""
    with tarfile.open(source) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    yield from _differences(source.name, held, set(files))


def licence_faults(bill: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the packages of an SBOM whose licences are not allowed, and the exceptions that are not needed."""
    found = {part["name"].lower(): licences(part) for part in bill["components"]}
    unclear = {name: known for name, known in found.items() if not known or not known <= set(table["allowed"])}
    for name, known in sorted(unclear.items()):
        if name not in table["packages"]:
            yield f"`{name}` has the licence {', '.join(sorted(known)) or '(none named)'}; allow it in tools/licences.toml or drop it"
    for name in sorted(table["packages"].keys() - unclear.keys()):
        yield f"`{name}` needs no exception in tools/licences.toml; remove the line"


def licences(component: Mapping[str, Any]) -> set[str]:
    """Return the SPDX identifiers of a component of an SBOM, of every alternative."""
    said = [
        each.get("expression") or each["license"].get("id") or each["license"]["name"]
        for each in component.get("licenses", ())
    ]
    spdx = [CLASSIFIERS.get(each, str(each)) for each in said]
    return {word for each in spdx for word in re.findall(r"[\w.+-]+", each) if word not in ("AND", "OR", "WITH")}


def tracked(*options: str) -> list[str]:
    """Return the names of the files under version control; `options` of `git ls-files` name others."""
    return _output("git", "ls-files", "-z", *options).rstrip("\0").split("\0")


def _differences(name: str, held: set[str], wanted: set[str]) -> Iterator[str]:
    if missing := sorted(wanted - held):
        yield f"{name} lacks {', '.join(missing)}; see `[tool.hatch.build]` in pyproject.toml"
    if extra := sorted(held - wanted):
        yield f"{name} contains {', '.join(extra)}, which git does not track; delete them or track them"


def _clean_environment(folder: Path, wheel: Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    return python


def _require(what: str, faults: Iterable[str]) -> None:
    found = list(faults)
    if found:
        sys.exit("".join(f"release: {fault}\n" for fault in found).rstrip())
    _say(f"{what}: checked")


def _run(*command: str | Path) -> None:
    if subprocess.run([str(each) for each in command], cwd=ROOT, check=False).returncode != 0:
        sys.exit(f"release: `{' '.join(map(str, command))}` failed; its output is above")


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _say(line: str, end: str = "\n") -> None:
    print(line, end=end, flush=True)


if __name__ == "__main__":
    sys.exit(main())
