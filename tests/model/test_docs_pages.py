"""The pages of the shipped models and of the vocabulary match their files."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings

from headgate.cli.model.document import page_of
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.model.describe import local_action
from headgate.model.docs import model_page
from headgate.model.load import load_model
from tests.fakes.generated_worlds import few
from tests.fakes.small_organization import DATAMESH, NEKT
from tests.model.documents import DOCUMENTS, Document
from tests.model.test_formatter import read

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [("nekt", "models/nekt"), ("y42", "models/y42"), ("onehouse", "models/onehouse"), ("datamesh", "models/datamesh"),
         ("deployment", "models/deployment"), ("actions", "actions"), ("names", "names"), ("operations", "operations"), ("mistakes", "model-diagnostics")]  # fmt: skip


@pytest.mark.parametrize(("name", "page"), PAGES)
def test_a_page_equals_what_its_file_generates_today(name: str, page: str) -> None:
    written = (DOCS / f"{page}.md").read_text(encoding="utf-8")

    assert page_of(name) == written, f"update the page: headgate model document {name} --output-file docs/{page}.md"


def test_the_matrix_ticks_exactly_what_a_role_gives() -> None:
    lines = model_page(NEKT).splitlines()
    table = lines[lines.index("### table") :]

    assert table[2] == "|  | `viewer` | `editor` | `manager` | `admin` | `owner` |"
    assert "| `select` | yes | yes | yes | yes | yes |" in table[:13]
    assert "| `insert` |  | yes | yes | yes | yes |" in table[:13]
    assert "| `drop` |  |  | yes | yes | yes |" in table[:13]


def test_every_role_switch_and_need_is_on_the_page() -> None:
    page = model_page(DATAMESH)

    for name in (*DATAMESH.roles, *DATAMESH.settings, *(local_action(DATAMESH, each) for each in DATAMESH.needs)):
        assert f"`{name}`" in page


OWN_WORDS = """
model: words
version: 1
types:
  organization: {as: metastore, under: [deployment]}
  lake: {as: catalog, under: [organization]}
  database: {as: namespace, under: [lake]}
  team: {as: catalog_role, under: [lake]}
roles:
  admin:
    on: [lake, team]
    to: [user, team]
    actions: {lake: [create_database], database: [describe]}
  insider: {on: [], actions: {team: [describe], lake: [describe], database: [describe]}}
members: [team]
spread:
  - {roles: [admin], from: [lake]}
  - {roles: [admin], from: [lake], up: lake, within: true, to: [team], as: insider}
  - {roles: [admin], from: [lake], up: lake, within: true, to: [lake, database], as: insider}
  - {roles: [admin], from: [lake], up: lake, within: true, as: insider}
  - {roles: [admin], from: [lake], up: lake, as: insider}
needs:
  lake.create_database:
    - roles: {self: admin}
assign:
  - {holder: admin, roles: [admin], on: [lake, team]}
"""
"""A model with its own words for types, and with each form of `up`."""


@pytest.fixture
def own_words() -> list[str]:
    """Return the lines of the page of `OWN_WORDS`."""
    model = load_model(OWN_WORDS, shipped_vocabulary(), "words.yaml", CONDITIONS)
    return model_page(model).splitlines()


class TestThePageOfAModelWithWordsOfItsOwn:
    def test_the_page_writes_types_kinds_actions_and_verbs_in_the_words_of_the_model(
        self, own_words: list[str]
    ) -> None:
        assert "| `admin` | catalog, catalog_role | catalog_role, user | - | - |" in own_words
        assert any(line.startswith("| `create_namespace` |") for line in own_words)
        assert "| `catalog.create_namespace` | `admin` on `self` |" in own_words
        assert (
            "| `admin` on the resource | `admin` | catalog, catalog_role | catalog_role, user | add, remove | - |"
            in own_words
        )

    def test_the_page_states_the_members_of_a_type(self, own_words: list[str]) -> None:
        assert (
            "- A principal with any role on a catalog_role, assigned directly or through a group, is a member of that catalog_role,"
            in own_words
        )

    def test_a_rule_within_a_resource_reaches_the_resource_itself_only_if_its_type_is_listed(
        self, own_words: list[str]
    ) -> None:
        itself = "its nearest catalog, or itself if it is one"

        assert f"2. `admin` on catalog: `insider` on each catalog_role below {itself}" in own_words
        assert f"3. `admin` on catalog: `insider` on {itself}, and on each namespace below that catalog" in own_words
        assert f"4. `admin` on catalog: `insider` on {itself}, and on everything below that catalog" in own_words
        assert f"5. `admin` on catalog: `insider` on {itself}, and no further" in own_words


@settings(few, max_examples=50)
@given(DOCUMENTS)
def test_the_page_of_a_generated_model_has_no_empty_section_or_table(document: Document) -> None:
    assert_full(model_page(read(json.dumps(document))))


@pytest.mark.parametrize("name", ["nekt", "y42", "onehouse", "datamesh", "deployment"])
def test_the_page_of_a_shipped_model_has_no_empty_section_or_table(name: str) -> None:
    assert_full(page_of(name))


def assert_full(page: str) -> None:
    """Fail if a section or a table of a page is empty."""
    lines = [line for line in page.splitlines() if line] + ["## end"]
    headings = [line for line, following in pairwise(lines) if line.startswith("## ") and following.startswith("## ")]
    tables = [line for line, following in pairwise(lines) if line.startswith("|---") and not following.startswith("|")]

    assert headings == tables == []
