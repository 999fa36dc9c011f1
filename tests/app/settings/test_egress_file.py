"""The operator's egress file: its rules, and the messages about its faults."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from headgate.app.settings.egress_file import read_egress_file
from headgate.app.settings.settings import SettingsError, default_settings
from headgate.control.egress import parse_host_rule
from tests.repo.sessions import BLOCK

Write = Callable[[str], Path]

GOOD = """\
organizations:
  "*":
    folders: [/srv/shared]
  acme:
    folders:
      - /srv/acme
    hosts: ["db.acme.example:5432", "*.acme.example:443", "10.0.0.0/8:5432", "[fd00::/8]:*"]
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        file = tmp_path / "egress.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    return written


def test_an_egress_file_lists_the_rules_of_each_organization(write: Write) -> None:
    found = default_settings({"HEADGATE_EGRESS": str(write(GOOD))}).egress

    assert found.rules("organization").folders == (PurePosixPath("/srv/shared"),)
    assert found.rules("acme").folders == (PurePosixPath("/srv/shared"), PurePosixPath("/srv/acme"))
    assert found.rules("acme").hosts[2] == parse_host_rule("10.0.0.0/8:5432")


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("- a\n", "1:1", "expected a mapping with `organizations`"),
        ("organisations: {}\n", "1:1", "unknown key `organisations`"),
        ("organizations: [a]\n", "1:16", "expected a mapping of organizations"),
        ("organizations:\n  acme: /srv\n", "2:9", "expected a mapping with `folders` and `hosts`"),
        ("organizations:\n  acme:\n    folder: [/srv]\n", "3:5", "unknown key `folder`"),
        ("organizations:\n  acme:\n    folders: /srv\n", "3:14", "expected a list as the value of `folders`"),
        ("organizations:\n  acme:\n    folders: [srv]\n", "3:15", "`srv` is not the absolute path of a folder"),
        ("organizations:\n  acme:\n    folders: [/srv/../etc]\n", "3:15", "is not the absolute path of a folder"),
        ("organizations:\n  acme:\n    hosts: [a.org:1, b.org]\n", "3:22", "`b.org` has no port"),
        ("organizations:\n  acme:\n    hosts: [[fd00::/8]:1]\n", "3:", "error"),
        ("organizations:\n  acme: {}\n  acme: {}\n", "3:3", "occurs twice"),
        ("organizations: *a\n", "1:", "error"),
        ("", "1:1", "empty"),
    ],
)
def test_a_fault_of_an_egress_file_is_reported_with_its_line_and_column(
    write: Write, text: str, at: str, said: str
) -> None:
    file = write(text)

    with pytest.raises(SettingsError) as raised:
        default_settings({"HEADGATE_EGRESS": str(file)})

    assert f"{file}:{at}" in str(raised.value)
    assert said in str(raised.value)
    assert "correct the file" in str(raised.value)


def test_a_missing_egress_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a readable file \(No such file or directory\); correct its path"):
        read_egress_file(tmp_path / "missing.yaml")


def test_the_egress_file_in_the_documentation_is_valid(write: Write) -> None:
    howto = Path(__file__).resolve().parents[3] / "docs" / "howto" / "connections.md"
    (text,) = (body for _, _, file, body in BLOCK.findall(howto.read_text(encoding="utf-8")) if file == "egress.yaml")

    assert read_egress_file(write(text)).rules("o_acme").root(PurePosixPath("/srv/acme/flights"))
