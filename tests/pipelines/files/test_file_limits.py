"""Limits of files: the lines and documents that Spark can hold in memory."""

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from headgate.pipelines.files import file_limits
from headgate.pipelines.files.file_limits import (
    MAX_DOCUMENT_BYTES,
    MAX_LINE_BYTES,
    require_short_lines,
    require_small_document,
)
from headgate.pipelines.load_errors import EndedError, LoadError
from tests.pipelines.drop_folder import Drop
from tests.pipelines.sources import source, stream


def never() -> bool:
    return False


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("piece", [1, 2, 3, 5])
def test_lines_longer_than_the_limit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, piece: int
) -> None:
    monkeypatch.setattr(file_limits, "_PIECE", piece)
    monkeypatch.setattr(file_limits, "MAX_LINE_BYTES", 5)
    file = tmp_path / "a.csv"

    for lines in ([], [b""], [b"12345"], [b"12345", b"", b"1234", b"12345", b"1"], [b"1"] * 20):
        for last in (b"", end):
            file.write_bytes(end.join(lines) + last)
            require_short_lines(file, never)
    for lines in ([b"123456"], [b"1", b"", b"123456", b"1"], [b"12345", b"1234567"], [b"1" * 20]):
        for last in (b"", end):
            file.write_bytes(end.join(lines) + last)
            with pytest.raises(LoadError, match="a line of the file is longer than"):
                require_short_lines(file, never)


def test_a_line_of_a_gibibyte_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with file.open("wb") as opened:
        opened.truncate(1 << 30)  # sparse

    with pytest.raises(LoadError, match="a line of the file is longer than 16 MiB"):
        require_short_lines(file, never)


def test_a_piece_is_not_longer_than_a_line_may_be() -> None:
    assert file_limits._PIECE <= MAX_LINE_BYTES


def test_the_check_of_lines_ends_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n")

    with pytest.raises(EndedError):
        require_short_lines(tmp_path / "a.csv", lambda: True)


def test_a_document_above_the_size_limit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    with file.open("wb") as opened:
        opened.truncate(MAX_DOCUMENT_BYTES)
        require_small_document(file, never)
        opened.truncate(MAX_DOCUMENT_BYTES + 1)

    with pytest.raises(LoadError, match="a JSON document of more than 64 MiB"):
        require_small_document(file, never)


@pytest.mark.spark
@pytest.mark.parametrize(
    "is_repeated",
    [pytest.param(True, marks=pytest.mark.soak, id="one value"), pytest.param(False, id="many values")],
)
def test_large_values_of_a_small_file_within_the_bounds_do_not_end_the_driver(drop: Drop, *, is_repeated: bool) -> None:
    name = f"large_{is_repeated}".lower()
    values = ["a" * (15 << 20)] * 300 if is_repeated else [letter * (15 << 20) for letter in "abcdefghijklmnopqrst" * 3]
    (drop.folder / name).mkdir()
    options = {"use_dictionary": is_repeated, "compression": "zstd", "write_statistics": False, "write_batch_size": 1}
    pq.write_table(pa.table({"s": values}), drop.folder / name / "a.parquet", **options)
    definition = source(stream(name, file=name, format="parquet"), name=name) | {"connection": "drop"}

    with suppress(PySparkException):  # the statement may need more memory than is available
        drop.lake.run(definition)

    assert drop.lake.rows("SELECT 1") == [(1,)]
