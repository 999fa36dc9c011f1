"""The definitions in the documents are valid."""

import re
from pathlib import Path

import pytest
import yaml

from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.pipelines.kinds import KINDS, parse_definition

_DOCS = Path(__file__).resolve().parents[3] / "docs"
_SHOWN = [
    text
    for page in ("pipelines.md", "sources.md")
    for text in re.findall(
        r"^```yaml\n(kind: .*?)^```", (_DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
]


@pytest.mark.parametrize("text", _SHOWN)
def test_each_definition_in_the_documentation_is_valid(text: str) -> None:
    assert parse_definition(yaml.safe_load(text)).name


def test_every_kind_of_the_vocabulary_has_a_definition() -> None:
    assert set(KINDS) == set(shipped_vocabulary().pipeline_kinds)


def test_the_documentation_names_every_kind_of_pipeline() -> None:
    page = (_DOCS / "pipelines.md").read_text(encoding="utf-8")

    assert all(f"`{kind}`" in page for kind in KINDS)
