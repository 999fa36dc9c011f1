"""The statement fuzzer: the same statements for the same seed, and the reduction of failing statements."""

import re
import threading
from pathlib import Path

import pytest

from tests.bypass.opened_files import UNNAMED, Opening
from tests.bypass.statement_generator import Part, Statement, compose, grammar, shrink
from tests.conftest import IN_CI

SALARIES = Part("SELECT {k} AS k, {v} AS v FROM {t} LIMIT 0", (), "lake.secret.salaries")
FLIGHTS = Part("SELECT {k} AS k, {v} AS v FROM {t}", (), "lake.raw.flights")

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


def watching(folder: Path, *, listings: bool = False) -> Opening:
    """Create two folders with a file in each, and watch them."""
    for name in ("a", "b"):
        (folder / name / "data").mkdir(parents=True)
        (folder / name / "data" / "file").write_text(name)
    try:
        return Opening({folder / name: name for name in ("a", "b")}, listings=listings)
    except OSError as error:
        if IN_CI:
            raise
        pytest.skip(str(error))


def test_the_same_seed_gives_the_same_statements() -> None:
    assert list(compose(3, 50)) == list(compose(3, 50))
    assert list(compose(3, 50)) != list(compose(4, 50))


def test_a_statement_needs_to_read_every_table_that_it_names() -> None:
    for statement in compose(5, 200):
        case = statement.case()
        names = [table.rpartition(".")[2] for _, table in case.needs]

        assert names
        assert all(name in case.statement for name in names)


def test_every_placeholder_of_a_statement_is_filled() -> None:
    for statement in compose(6, 500):
        assert not re.search(r"\{[qtkv][.!}]", statement.case().statement)


def test_every_kind_of_statement_is_generated() -> None:
    used = {statement.part.template for statement in compose(7, len(grammar().statements))}

    assert used == {template for _, template in grammar().statements}


def test_a_query_is_written_as_a_literal_of_its_language() -> None:
    query = Part("SELECT 'a' FROM {t}", (), "lake.raw.flights")

    assert (
        Part("EXECUTE IMMEDIATE {q!sql}", (query,)).text() == "EXECUTE IMMEDIATE 'SELECT \\'a\\' FROM lake.raw.flights'"
    )
    assert Part("spark.sql({q!py})", (query,)).text() == "spark.sql(\"SELECT 'a' FROM lake.raw.flights\")"


def test_a_failing_statement_is_reduced_to_the_part_that_fails() -> None:
    union = Part("({q}) UNION ALL ({q})", (FLIGHTS, Part("WITH c AS ({q}) SELECT k, v FROM c", (SALARIES,))))
    whole = Statement("f", "sql", Part("EXPLAIN {q}", (Part("SELECT k, v FROM ({q})", (union,)),)))

    least = shrink(whole, lambda each: "lake.secret.salaries" in each.part.text())

    assert least.part.text() == "EXPLAIN SELECT emp AS k, amount AS v FROM lake.secret.salaries"


def test_opened_files_are_reported_under_the_name_of_their_folder(tmp_path: Path) -> None:
    with watching(tmp_path) as opening:
        (tmp_path / "b" / "data" / "file").read_text()
        list((tmp_path / "a").iterdir())

        assert opening.seen() == {"b"}
        assert opening.seen() == frozenset()


@pytest.mark.parametrize("below", [".", "data"])
def test_listed_folders_are_reported_if_listings_are_watched(tmp_path: Path, below: str) -> None:
    with watching(tmp_path, listings=True) as opening:
        assert opening.seen() == frozenset()
        list((tmp_path / "a" / below).iterdir())

        assert opening.seen() == {"a"}
        assert opening.seen() == frozenset()


def test_an_overflow_of_the_event_queue_is_reported(tmp_path: Path) -> None:
    files = [tmp_path / name / "data" / "file" for name in ("a", "b")]
    with watching(tmp_path) as opening:
        # The events alternate, because the kernel merges equal events that follow each other.
        for _ in range(int(QUEUE.read_text(encoding="ascii")) // 2 + 1):
            for each in files:
                each.read_bytes()

        assert opening.seen() == {"a", "b", UNNAMED}
        assert opening.seen() == frozenset()


def test_the_wait_for_quiet_ends_after_the_last_opened_file(tmp_path: Path) -> None:
    with watching(tmp_path) as opening:
        (tmp_path / "a" / "data" / "file").read_text()
        late = threading.Timer(0.1, (tmp_path / "b" / "data" / "file").read_text)
        late.start()

        opening.wait_until_quiet(0.5)

        late.join()
        assert opening.seen() == frozenset()
