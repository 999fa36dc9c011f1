"""The fuzzer itself: the same statements for the same seed, and what fails cut down to what matters."""

import re
from pathlib import Path

import pytest

from tests.bypass.composing import Part, Statement, compose, grammar, shrink
from tests.bypass.opening import Opening

SALARIES = Part("SELECT {k} AS k, {v} AS v FROM {t} LIMIT 0", (), "lake.secret.salaries")
FLIGHTS = Part("SELECT {k} AS k, {v} AS v FROM {t}", (), "lake.raw.flights")


def test_the_same_seed_gives_the_same_statements() -> None:
    assert list(compose(3, 50)) == list(compose(3, 50))
    assert list(compose(3, 50)) != list(compose(4, 50))


def test_a_statement_needs_to_read_every_table_that_it_names() -> None:
    for statement in compose(5, 200):
        case = statement.case()
        names = [table.rpartition(".")[2] for _, table in case.needs]

        assert names
        assert all(name in case.statement for name in names)


def test_no_hole_is_left_open() -> None:
    for statement in compose(6, 500):
        assert not re.search(r"\{[qtkv][.!}]", statement.case().statement)


def test_every_kind_of_statement_comes_up() -> None:
    used = {statement.part.template for statement in compose(7, len(grammar().statements))}

    assert used == {template for _, template in grammar().statements}


def test_a_query_is_written_as_a_literal_of_its_language() -> None:
    query = Part("SELECT 'a' FROM {t}", (), "lake.raw.flights")

    assert (
        Part("EXECUTE IMMEDIATE {q!sql}", (query,)).text() == "EXECUTE IMMEDIATE 'SELECT \\'a\\' FROM lake.raw.flights'"
    )
    assert Part("spark.sql({q!py})", (query,)).text() == "spark.sql(\"SELECT 'a' FROM lake.raw.flights\")"


def test_a_statement_that_fails_is_cut_down_to_what_makes_it_fail() -> None:
    union = Part("({q}) UNION ALL ({q})", (FLIGHTS, Part("WITH c AS ({q}) SELECT k, v FROM c", (SALARIES,))))
    whole = Statement("f", "sql", Part("EXPLAIN {q}", (Part("SELECT k, v FROM ({q})", (union,)),)))

    least = shrink(whole, lambda each: "lake.secret.salaries" in each.part.text())

    assert least.part.text() == "EXPLAIN SELECT emp AS k, amount AS v FROM lake.secret.salaries"


def test_files_that_are_opened_are_seen_under_their_folders_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "data").mkdir(parents=True)
        (tmp_path / name / "data" / "file").write_text(name)
    try:
        opening = Opening({tmp_path / name: name for name in ("a", "b")})
    except OSError as error:
        pytest.skip(str(error))
    with opening:
        (tmp_path / "b" / "data" / "file").read_text()
        list((tmp_path / "a").iterdir())

        assert opening.seen() == {"b"}
        assert opening.seen() == frozenset()
