"""Headers of CSV files: compared by column, and read within limits."""

from pathlib import Path

import pytest

from headgate.pipelines.files import csv_headers
from headgate.pipelines.files.csv_headers import MAX_COLUMNS, MAX_HEADER_BYTES, read_header, require_one_header
from headgate.pipelines.load_errors import LoadError


def written(folder: Path, *contents: bytes) -> list[Path]:
    """Return files with these contents."""
    files = [folder / f"{number}.csv" for number in range(1, len(contents) + 1)]
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
    return files


@pytest.mark.parametrize(
    "contents",
    [
        [],
        [b""],
        [b"a,b\n1,2\n", b'"a",b\r\n3,4', b"a,b", b"", b"\na,b\n"],
        [b"\xff,b\n1,2", b"\xff,b\n"],
    ],
    ids=str,
)
def test_files_with_the_same_columns_pass(tmp_path: Path, contents: list[bytes]) -> None:
    require_one_header(written(tmp_path, *contents))


def test_files_with_different_columns_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"`1\.csv` and `3\.csv` have different columns"):
        require_one_header(written(tmp_path, b"a,b\n", b"", b"b,a\n"))


def test_a_header_ends_with_its_line(tmp_path: Path) -> None:
    (file,) = written(tmp_path, b'a,"b\nc",d\n')

    assert read_header(file) == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a" * (MAX_HEADER_BYTES + 1), "longer than 1 MiB"),
        (b"\n" * (MAX_HEADER_BYTES + 1), "longer than 1 MiB"),
        (b"a," * MAX_COLUMNS + b"\n", "more than 20,480 columns"),
        (b"a" * 200_000 + b"\n", "more than 131,072 characters"),
    ],
    ids=["line", "empty lines", "columns", "name"],
)
def test_a_header_that_is_too_large_is_refused_with_its_file(tmp_path: Path, content: bytes, fault: str) -> None:
    with pytest.raises(LoadError, match=rf"the header of `1\.csv` .*{fault}"):
        require_one_header(written(tmp_path, content))


def test_a_file_of_one_endless_line_is_read_up_to_the_header_limit_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = written(tmp_path, b"")
    with file.open("wb") as opened:
        opened.truncate(1 << 40)  # sparse
    parsed = list[object]()
    monkeypatch.setattr(csv_headers.csv, "reader", parsed.append)

    with pytest.raises(LoadError, match="longer than 1 MiB"):
        read_header(file)

    assert not parsed
