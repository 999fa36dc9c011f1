"""The documents match the repository: links have targets, lists are complete, and code blocks are valid code."""

import re
import tomllib
from pathlib import Path

import pytest

from headgate.control.text.error_text import REFUSED_CONDITION

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ADRS = ROOT / "docs" / "adr"
LANGUAGE = ROOT / "docs" / "model-language"
INDEXED = (ADRS, LANGUAGE)
"""Folders with an index of their own, which a test compares with the folder."""

_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_VARIABLE = re.compile(r"HEADGATE_[A-Z]+(?:_[A-Z]+)*\b")
_PYTHON = re.compile(r"^```python( run)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A code block; with `run` after the language, the test also executes it."""


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, in the form that repository hosts generate."""
    headings = _HEADING.findall(_FENCED.sub("", document.read_text()))
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
class TestEveryDocument:
    def test_every_document_links_to_existing_targets(self, document: Path) -> None:
        dangling: list[str] = []

        for target, anchor in _LINK.findall(_FENCED.sub("", document.read_text())):
            path = (document.parent / target) if target else document
            if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
                dangling.append(f"{target}#{anchor}" if anchor else target)

        assert dangling == []

    def test_every_python_block_of_a_document_compiles_and_runs_where_it_says_so(self, document: Path) -> None:
        for run, block in _PYTHON.findall(document.read_text()):
            code = compile(block, named(document), "exec")

            if run:
                exec(code, {})  # noqa: S102 - our own documents, marked to be executed


class TestDecisions:
    def test_the_index_lists_every_decision_in_order_with_its_title_and_status(self) -> None:
        records = sorted(path for path in ADRS.glob("[0-9]*.md"))
        expected = [f"| [{path.stem[:4]}]({path.name}) | {title(path)} | {status(path)} |" for path in records]

        listed = [line for line in (ADRS / "README.md").read_text().splitlines() if line.startswith("| [")]

        assert listed == expected

    def test_every_record_of_a_decision_names_its_price(self) -> None:
        without = [path.name for path in ADRS.glob("[0-9]*.md") if "\n## Price\n\n" not in path.read_text()]

        assert without == []


def title(record: Path) -> str:
    first = record.read_text().splitlines()[0]
    return first.removeprefix(f"# {record.stem[:4]}. ")


def status(record: Path) -> str:
    [line] = [line for line in record.read_text().splitlines() if line.startswith("Status: ")]
    return line.removeprefix("Status: ")


class TestDependencies:
    def test_the_dependencies_are_all_explained_and_nothing_else_is(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        groups = project["dependency-groups"]
        asked_for = [
            *project["project"]["dependencies"],
            *groups["dev"],
            *groups["build"],
            *groups["bench"],
            *groups["mutate"],
            *groups["release"],
            *groups["client"],
        ]

        explained = re.findall(r"^\| `([a-z0-9-]+)` \|", packages(), re.MULTILINE)

        assert sorted(explained) == sorted(re.split(r"[\[<>=~ ]", one)[0] for one in asked_for)


def packages() -> str:
    """Return the part of the document that lists the packages."""
    return (ROOT / "docs" / "dependencies.md").read_text().split("## Not from PyPI")[0]


class TestSettings:
    def test_the_settings_are_all_explained_and_nothing_else_is(self) -> None:
        sources = [*(ROOT / "src").rglob("*.py"), ROOT / "Makefile"]
        named = {name for source in sources for name in _VARIABLE.findall(source.read_text())}
        named.remove(REFUSED_CONDITION)  # an error condition, no setting
        read = named - {name for name in named if name.removesuffix("_FILE") in named - {name}}

        explained = re.findall(
            r"^\| `(HEADGATE_[A-Z_]+)` \|", (ROOT / "docs" / "operate" / "settings.md").read_text(), re.MULTILINE
        )

        assert sorted(explained) == sorted(read)


class TestIndex:
    def test_the_index_leads_to_every_document(self) -> None:
        index = ROOT / "docs" / "README.md"

        listed = {(index.parent / target).resolve() for target, _ in _LINK.findall(index.read_text())}

        assert {path for path in DOCUMENTS if path.parent not in INDEXED and path != index} <= listed
        assert {folder / "README.md" for folder in INDEXED} <= listed


class TestChangelog:
    def test_the_changelog_explains_the_mark_of_changed_decisions_and_has_an_unreleased_part(self) -> None:
        text = (ROOT / "CHANGELOG.md").read_text()

        assert "**⚖** changes a decision" in text
        assert "\n## [Unreleased]\n" in text
