"""The formatter of model files: it keeps the meaning, and every file has one canonical layout."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from headgate.decision.conditions import CONDITIONS
from headgate.model.diagnostics import DiagnosticReport
from headgate.model.formatter import format_model
from headgate.model.model import Model
from headgate.model.parse_model import read_model
from headgate.model.reader import Reader
from headgate.model.yaml_parser import parse_yaml
from tests.fakes.generated_worlds import few
from tests.fakes.small_organization import ACTIONS
from tests.model.documents import DOCUMENTS, Document, written

MODELS = Path(__file__).resolve().parents[2] / "src" / "headgate" / "model" / "models"
FILES = [*sorted(MODELS.glob("*.yaml")), Path(__file__).parent / "small.yaml"]


class Plain(yaml.SafeDumper):
    """Writes a repeated value in full each time, without YAML aliases."""

    @override
    def ignore_aliases(self, data: object) -> bool:
        return True


def in_blocks(document: Document) -> str:
    return yaml.dump(document, Dumper=Plain, sort_keys=False)


def in_brackets(document: Document) -> str:
    return yaml.dump(document, Dumper=Plain, sort_keys=False, default_flow_style=True, width=40)


_WAYS = st.sampled_from((json.dumps, in_blocks, in_brackets))

fewer = settings(few, max_examples=15)
"""Fewer examples, because YAML is read slowly, and each example is read several times."""


def read(text: str) -> Model:
    report = DiagnosticReport("m.yaml")
    document = parse_yaml(text, report)
    assert document is not None
    model = read_model(document, Reader(report), ACTIONS, CONDITIONS, hash="")
    assert [str(each) for each in report.diagnostics()] == []
    assert model is not None
    return model


def named(file: Path) -> str:
    return file.stem


class TestAModel:
    @fewer
    @given(DOCUMENTS, _WAYS)
    def test_a_model_is_the_same_after_it_is_written_formatted_and_read(self, document: Document, way: Any) -> None:
        """Writing, formatting and reading a model lose and add nothing."""
        model = read(json.dumps(document))

        assert read(format_model(way(written(model)))) == model

    @fewer
    @given(DOCUMENTS, _WAYS)
    def test_a_model_is_the_same_in_every_layout(self, document: Document, way: Any) -> None:
        """YAML has several notations for the same value."""
        assert read(way(document)) == read(json.dumps(document))


class TestTheLayout:
    @fewer
    @given(DOCUMENTS, _WAYS)
    def test_formatting_a_formatted_model_changes_nothing(self, document: Document, way: Any) -> None:
        """The formatter leaves formatted text as it is."""
        text = format_model(way(document))

        assert format_model(text) == text

    @pytest.mark.parametrize("file", FILES, ids=named)
    def test_formatting_preserves_the_meaning_of_a_file(self, file: Path) -> None:
        text = file.read_text()

        assert dataclasses.replace(read(format_model(text)), hash="") == dataclasses.replace(read(text), hash="")

    @pytest.mark.parametrize("file", FILES, ids=named)
    def test_formatting_preserves_every_comment(self, file: Path) -> None:
        text = file.read_text()

        assert sorted(comments(format_model(text))) == sorted(comments(text))

    def test_formatting_breaks_a_list_that_is_too_long_for_one_line(self) -> None:
        long = f"on: [{', '.join(f'table{number}' for number in range(20))}]\n"

        assert format_model(long) == "on:\n" + "".join(f"  - table{number}\n" for number in range(20))

    def test_a_blank_line_above_an_entry_that_is_broken_stays_one_blank_line(self) -> None:
        words = ", ".join(f"word{number}" for number in range(12))

        assert format_model(f"a:\n  - b\n\n  - {{c: [{words}], d: [{words[:40]}]}}\n") == (
            f"a:\n  - b\n\n  - c: [{words}]\n    d: [{words[:40]}]\n"
        )

    @pytest.mark.parametrize(
        ("written_so", "laid_out_so"),
        [
            ("a:   b\nc: [ d,e ]\n", "a: b\nc: [d, e]\n"),
            ("a:\n- b\n-   c: d\n    e: {f:   g}\n", "a:\n  - b\n  - c: d\n    e: {f: g}\n"),
            ("a:\n      b: c   \n\n\n\n      d: e", "a:\n  b: c\n\n  d: e\n"),
            ("a: [b,\n  c]   # both\n", "a: [b, c]  # both\n"),
            ("a:   # first\n  # second\n  b: c\n  # last of a\n# d\nd: e\n# end\n", None),
            ("# top\n\na: 'it # is'  # no, it is not\n", None),
            ("a: b # beside\n", "a: b  # beside\n"),
            ("a: [b,  # one\n  c]  # two\n", "# one\n# two\na: [b, c]\n"),
            ("a: >\n  b\n  c\n", 'a: "b c\\n"\n'),
            ("a:\n- - b\n  - c\n", "a:\n  - - b\n    - c\n"),
            ("a:\nb: {}\nc: []\n", "a:\nb: {}\nc: []\n"),
            ("\n\na: b\n\n\n", "a: b\n"),
            ("- a\n- b\n", "- a\n- b\n"),
            ("a: b\r\nc: d # e\r\n", "a: b\nc: d  # e\n"),
        ],
        ids=repr,
    )
    def test_a_document_has_the_expected_layout(self, written_so: str, laid_out_so: str | None) -> None:
        assert format_model(written_so) == (written_so if laid_out_so is None else laid_out_so)


def comments(text: str) -> list[str]:
    return [line[line.index("# ") :].strip() for line in text.splitlines() if "# " in line]
