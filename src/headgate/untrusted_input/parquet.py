"""Parquet files: checks the footer and every page header against limits of the memory that a reader allocates for them.

Checking the footer alone is not enough: it may state any size, and a reader allocates the size that a page header states.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError
from headgate.untrusted_input.thrift import Compact

MAX_FOOTER_BYTES: Final = 16 * 1024 * 1024
MAX_FIELDS: Final = 10_000
"""The limit of columns and of the fields that contain them."""
MAX_DEPTH: Final = 64
MAX_CHUNKS: Final = 100_000
"""The limit of column chunks: columns times row groups."""
MAX_PAGE_BYTES: Final = 16 * 1024 * 1024
"""The limit of a data page after decompression: one value may fill it. Most writers create pages of one to a few MiB."""
MAX_DICTIONARY_BYTES: Final = 16 * 1024 * 1024
"""The limit of a dictionary page after decompression: each of its values may occur in any number of rows."""
MAX_DICTIONARY_VALUES: Final = 4_000_000
MAX_PAGES_BYTES: Final = 256 * 1024 * 1024
"""The limit of the largest pages and the dictionaries of all columns of a row group: a reader holds them at once."""
MAX_REPEATED_VALUES: Final = 64_000_000
"""The limit of values of a column within a list or map, in one row group: all of them may belong to one row."""
_HEADER_BYTES: Final = (1024, 64 * 1024, 4 * 1024 * 1024)
"""The numbers of bytes to read for one header; the next one is used if fewer were not enough, because statistics may be long."""
_MAGIC: Final = b"PAR1"
_TAIL: Final = 8
_SNAPPY: Final = 1
_DATA, _INDEX, _DICTIONARY, _DATA_V2 = range(4)
_REPEATED: Final = 2


class _Blocks:
    """Access to parts of the open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read(self, at: int, count: int) -> bytes:
        """Return up to `count` bytes at a position; fewer at the end of the file."""
        return os.pread(self._descriptor, max(0, count), at) if 0 <= at < self.size else b""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One column of one row group."""

    start: int
    end: int
    codec: int
    is_repeated: bool
    index: tuple[int, int] | None
    """Position and length of the offset index, which lists the pages once more."""
    values: int


@dataclass(frozen=True, slots=True)
class _Page:
    kind: int
    at: int
    body: int
    """The position after the header."""
    end: int
    size: int
    """The size after decompression."""
    header: Mapping[int, Any]

    @property
    def values(self) -> int:
        """The number of values that the page states."""
        about = self.header.get({_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}[self.kind], {})
        return int(about.get(1, -1))


def check_parquet(descriptor: int) -> None:
    """Check an open Parquet file.

    Raises:
        UnreadableInputError: the file is malformed or encrypted, or its metadata contradicts its content.
        OversizedInputError: the file exceeds a limit.
    """
    blocks = _Blocks(descriptor)
    try:
        footer = _read_footer(blocks)
        repeated = _columns(footer)
        groups = footer.get(4, [])
        if sum(len(group.get(1, ())) for group in groups) > MAX_CHUNKS:
            raise OversizedInputError(
                f"the Parquet file has more than {MAX_CHUNKS:,} column chunks in its row groups; write smaller files"
            )
        for group in groups:
            _require_rows_in_columns(group, repeated)
            held = sum(_check_chunk(blocks, chunk) for chunk in _chunks(blocks, group, repeated))
            if held > MAX_PAGES_BYTES:
                raise _too_large("a group of pages that are read at once", MAX_PAGES_BYTES)
    except MemoryError:
        raise OversizedInputError(
            "the Parquet file needs more memory than one file may use; write smaller files"
        ) from None
    except (TypeError, AttributeError, LookupError, ValueError):
        raise _malformed() from None


def _read_footer(blocks: _Blocks) -> dict[int, Any]:
    tail = blocks.read(blocks.size - _TAIL, _TAIL)
    if tail[4:] != _MAGIC or blocks.read(0, len(_MAGIC)) != _MAGIC:
        raise UnreadableInputError(
            "the file is not a Parquet file, is truncated, or is encrypted; write it again without encryption"
        )
    length = int.from_bytes(tail[:4], "little")
    if length > MAX_FOOTER_BYTES:
        raise _too_large("the footer", MAX_FOOTER_BYTES)
    if length > blocks.size - _TAIL - len(_MAGIC):
        raise _malformed()
    footer = Compact(blocks.read(blocks.size - _TAIL - length, length)).struct()
    if 8 in footer:  # noqa: PLR2004 - the field of the encryption algorithm
        raise UnreadableInputError("the Parquet file is encrypted; write it again without encryption")
    return footer


def _columns(footer: Mapping[int, Any]) -> dict[tuple[bytes, ...], bool]:
    """Return path -> whether the column is within a list or map, for each column."""
    fields: list[dict[int, Any]] = footer[2]
    if len(fields) > MAX_FIELDS:
        raise OversizedInputError(
            f"the Parquet file has more than {MAX_FIELDS:,} columns and nested fields; write fewer columns"
        )
    found = dict[tuple[bytes, ...], bool]()
    # For each enclosing field: its path, the number of its remaining fields, and whether it repeats.
    above: list[tuple[tuple[bytes, ...], int, bool]] = [((), int(fields[0].get(5, 0)), False)]
    for field in fields[1:]:
        while above and not above[-1][1]:
            above.pop()
        path, left, repeats = above.pop()
        above.append((path, left - 1, repeats))
        path, repeats = (*path, field[4]), repeats or field.get(3) == _REPEATED
        if len(path) > MAX_DEPTH:
            raise OversizedInputError(
                f"the columns of the Parquet file are nested more than {MAX_DEPTH} levels deep; flatten the columns"
            )
        if field.get(5):
            above.append((path, int(field[5]), repeats))
        elif found.setdefault(path, repeats) is not repeats:
            raise _malformed()
    return found


def _require_rows_in_columns(group: Mapping[int, Any], repeated: Mapping[tuple[bytes, ...], bool]) -> None:
    """Refuse a row group whose number of rows differs from its columns: a reader creates the number of rows that it states."""
    found, rows = {tuple(column[3][3]): int(column[3][5]) for column in group[1]}, int(group[3])
    if found.keys() != repeated.keys() or len(found) != len(group[1]) or (rows and not found):
        raise _malformed()
    # A row has one value (possibly null) of each column outside lists and maps, and at least one of any other column.
    if any(values < rows if repeated[path] else values != rows for path, values in found.items()):
        raise _malformed()


def _chunks(blocks: _Blocks, group: Mapping[int, Any], repeated: Mapping[tuple[bytes, ...], bool]) -> Iterator[_Chunk]:
    for column in group[1]:
        about: dict[int, Any] = column[3]
        if 1 in column or column.keys() & {8, 9}:
            raise UnreadableInputError(
                "a column of the Parquet file is encrypted or stored in another file; write one complete file without encryption"
            )
        data, dictionary = about[9], about.get(11, 0)
        start = dictionary if 0 < dictionary < data else data
        if not about[5] and not start:
            # Without values there is no data page; a reader would take the magic bytes for an empty header.
            continue
        end = start + about[7]
        if not len(_MAGIC) <= start <= end <= blocks.size:
            raise _malformed()
        index = (column[4], column[5]) if 4 in column else None  # noqa: PLR2004 - the field of the offset index
        yield _Chunk(start, end, about[4], repeated[tuple(about[3])], index, about[5])


def _check_chunk(blocks: _Blocks, chunk: _Chunk) -> int:
    """Check the pages of a column chunk; return the bytes that a reader of the column holds at most at once."""
    largest = dictionary = values = 0
    starts = set[int]()
    for page in _pages(blocks, chunk):
        starts.add(page.at)
        if page.kind == _DICTIONARY:
            dictionary = max(dictionary, _check_dictionary(page))
        elif page.size > MAX_PAGE_BYTES:
            raise _too_large("a page", MAX_PAGE_BYTES)
        else:
            largest = max(largest, page.size)
            values += page.values if page.kind != _INDEX else 0
        _check_packed(blocks, chunk, page)
    if values != chunk.values:
        # A reader would continue after the end of the chunk to find the missing values.
        raise _malformed()
    if chunk.is_repeated and values > MAX_REPEATED_VALUES:
        raise OversizedInputError(
            f"a list column of the Parquet file has more than {MAX_REPEATED_VALUES:,} values in a row group; write smaller row groups"
        )
    if chunk.index is not None:
        _check_index(blocks, chunk.index, starts)
    return largest + dictionary


def _pages(blocks: _Blocks, chunk: _Chunk) -> Iterator[_Page]:
    at = chunk.start
    while at < chunk.end:
        header, body = _read_header(blocks, at, chunk.end)
        kind, size, packed = header[1], header[2], header[3]
        page = _Page(kind, at, body, body + packed, size, header)
        if kind not in range(4) or size < 0 or packed < 0 or page.end > chunk.end:
            raise _malformed()
        if kind != _INDEX and page.values < 0:
            raise _malformed()
        yield page
        at = page.end


def _read_header(blocks: _Blocks, at: int, end: int) -> tuple[dict[int, Any], int]:
    for count in _HEADER_BYTES:
        reader = Compact(blocks.read(at, min(count, end - at)))
        try:
            return reader.struct(), at + reader.at
        except UnreadableInputError:
            if count in (_HEADER_BYTES[-1], end - at) or count > end - at:
                raise
    raise _malformed()


def _check_dictionary(page: _Page) -> int:
    if page.size > MAX_DICTIONARY_BYTES:
        raise _too_large("a dictionary page", MAX_DICTIONARY_BYTES)
    if page.values > min(page.size, MAX_DICTIONARY_VALUES):
        raise OversizedInputError(
            f"a dictionary of the Parquet file states {page.values:,} values, which is too many; write the file again without dictionary encoding"
        )
    return page.size


def _check_packed(blocks: _Blocks, chunk: _Chunk, page: _Page) -> None:
    """Refuse a page whose compressed data states another size than its header: a reader may allocate that size."""
    levels = 0
    if page.kind == _DATA_V2:
        about = page.header[8]
        levels = about[5] + about[6]
        if about[5] < 0 or about[6] < 0 or levels > min(page.size, page.end - page.body):
            raise _malformed()
        if about.get(7, True) is False:
            return
    if chunk.codec != _SNAPPY or page.body + levels == page.end:
        return
    said = Compact(blocks.read(page.body + levels, min(5, page.end - page.body - levels))).varint(32)
    if said != page.size - levels:
        raise _malformed()


def _check_index(blocks: _Blocks, index: tuple[int, int], starts: set[int]) -> None:
    """Refuse an index with a position at which no page begins: a reader would parse the bytes there as a header."""
    at, length = index
    if length > MAX_FOOTER_BYTES:
        raise _too_large("an index of pages", MAX_FOOTER_BYTES)
    locations = Compact(blocks.read(at, length)).struct()[1]
    if not {location[1] for location in locations} <= starts:
        raise _malformed()


def _too_large(what: str, most: int) -> OversizedInputError:
    return OversizedInputError(
        f"{what} of the Parquet file takes more than {most // 1024 // 1024} MiB; write the file again with smaller pages and row groups"
    )


def _malformed() -> UnreadableInputError:
    return UnreadableInputError(
        "the metadata of the Parquet file is malformed or does not fit its pages; write the file again"
    )
