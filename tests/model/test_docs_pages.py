"""The pages of the shipped models and of the vocabulary match their files."""

from pathlib import Path

import pytest

from headgate.cli.model.document import page_of
from headgate.model.docs import model_page
from tests.fakes.small_organization import DATAMESH, NEKT

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [("nekt", "models/nekt"), ("y42", "models/y42"), ("onehouse", "models/onehouse"), ("datamesh", "models/datamesh"),
         ("deployment", "models/deployment"), ("actions", "actions"), ("names", "names"), ("mistakes", "model-diagnostics")]  # fmt: skip


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

    for name in (*DATAMESH.roles, *DATAMESH.settings, *DATAMESH.needs):
        assert f"`{name}`" in page
