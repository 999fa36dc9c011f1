"""A release with a fault is refused, and its archives hold exactly the tracked files."""

from pathlib import Path

import pytest

from tools.release import licence_faults, licences, source_faults, tracked, version_faults, wheel_faults
from tools.wheels import build

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n{}\n## [0.2.0]{}\n\n- New.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n"
TABLE = {"allowed": ["MIT", "Apache-2.0"], "packages": {"psycopg": "a library"}}


def bill(**packages: str) -> dict[str, object]:
    return {
        "components": [
            {"name": name, "licenses": [{"expression": each}] * bool(each)} for name, each in packages.items()
        ]
    }


def test_a_version_with_a_dated_section_and_an_archive_of_the_one_before_it_can_be_released() -> None:
    assert list(version_faults("0.2.0", CHANGELOG.format("", " - 2026-02-01"), ["0.1.0"])) == []


@pytest.mark.parametrize(
    ("version", "changelog", "archives", "fault"),
    [
        ("0.2.0", CHANGELOG.format("- More.\n", " - 2026-02-01"), ["0.1.0"], "under `[Unreleased]`"),
        ("0.3.0", CHANGELOG.format("", " - 2026-02-01"), ["0.1.0"], "is not `[0.3.0]`"),
        ("0.2.0", CHANGELOG.format("", ""), ["0.1.0"], "needs a date"),
        ("0.2.0", CHANGELOG.format("", " - 2026-02-01"), [], "no archive `0.1.0.tar.gz`"),
        ("0.1.0", "# Changelog\n\n## [Unreleased]\n", [], "is not `[0.1.0]`"),
    ],
)
def test_a_version_that_lacks_something_is_not_released(
    version: str, changelog: str, archives: list[str], fault: str
) -> None:
    (found,) = version_faults(version, changelog, archives)

    assert fault in found


def test_allowed_licences_pass_with_every_alternative_and_exception() -> None:
    assert list(licence_faults(bill(rich="MIT", x="MIT OR Apache-2.0", psycopg="LGPL-3.0-only"), TABLE)) == []


@pytest.mark.parametrize(
    ("packages", "fault"),
    [
        ({"psycopg": "LGPL-3.0-only", "x": "AGPL-3.0-only"}, "`x` has the licence AGPL-3.0-only"),
        ({"psycopg": "LGPL-3.0-only", "x": ""}, "`x` has the licence (none named)"),
        ({"psycopg": "MIT"}, "`psycopg` needs no exception"),
    ],
)
def test_a_licence_that_is_not_allowed_and_an_exception_that_is_not_needed_are_faults(
    packages: dict[str, str], fault: str
) -> None:
    (found,) = licence_faults(bill(**packages), TABLE)

    assert found.startswith(fault)


def test_a_classifier_counts_as_its_spdx_identifier() -> None:
    named = {"licenses": [{"license": {"name": "License :: OSI Approved :: BSD License"}}]}

    assert licences(named) == {"BSD-3-Clause"}


def test_the_wheel_and_the_source_archive_hold_the_files_of_the_repository_and_no_others(tmp_path: Path) -> None:
    files = tracked("--cached", "--others", "--exclude-standard")

    assert list(wheel_faults(build(tmp_path), files)) == []
    assert list(source_faults(build(tmp_path, "sdist"), files)) == []
    assert list(wheel_faults(build(tmp_path / "again"), [*files, "src/headgate/new.py"])) != []
