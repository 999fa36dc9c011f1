"""Reading a corpus."""

from pathlib import Path

import pytest

from tools.bypass_corpus.cases import CorpusError, load

HERE = Path(__file__).parent


def test_both_corpora_are_read_whole() -> None:
    cases = load([HERE / "public.jsonl", HERE / "more.jsonl"])

    lines = [line for name in ("public.jsonl", "more.jsonl") for line in (HERE / name).read_text().splitlines()]
    assert len(cases) == len(lines)


def test_single_cases_can_be_named() -> None:
    assert [case.id for case in load([HERE / "public.jsonl"], ["sql-023"])] == ["sql-023"]


def test_a_case_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(CorpusError, match="no case `sql-999`"):
        load([HERE / "public.jsonl"], ["sql-999"])


def test_a_corpus_that_is_loaded_twice_is_refused() -> None:
    with pytest.raises(CorpusError, match="twice"):
        load([HERE / "public.jsonl", HERE / "public.jsonl"])


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"id": "a", "kind": "sql", "statement": "SELECT 1"}',
        '{"id": "a", "kind": "sql", "statement": "SELECT 1", "needs": [["read"]]}',
        '{"id": "a", "kind": "java", "statement": "SELECT 1", "needs": []}',
    ],
)
def test_the_error_of_an_invalid_case_names_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(f"\n{line}\n")

    with pytest.raises(CorpusError, match=r"corpus\.jsonl:2"):
        load([file])
