"""Charts: the rows of a SELECT, and the Vega-Lite specification to draw them. Only this module writes specifications."""

import base64
import datetime as dt
import decimal
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
from pydantic import StringConstraints

from headgate.pipelines.definitions.definition import StrictDefinition
from headgate.pipelines.json_size import RowSizeError, batches_within

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_ROWS = 5_000
"""The maximum number of rows stored; in a chart of more, no viewer could distinguish them."""

MOST_BYTES = 4 * 1024**2
"""The maximum size of the rows stored, by their estimated size as JSON."""

MOST_DRAWN_ROWS = 1_000
"""The maximum number of rows drawn; more may be stored, but each view of the chart draws all of them again."""

MOST_DRAWN_BYTES = 128 * 1024
"""The maximum size of a specification with its rows. Drawing time is proportional to its length: about 4 s at this size."""

_Column = Annotated[str, StringConstraints(min_length=1, max_length=255)]
_SIZE = {"width": 640, "height": 360}
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML cannot hold: the library that draws charts crashes its process on one of them."""
_REPLACEMENT = "\ufffd"


class ChartError(Exception):
    """The rows cannot be drawn as the definition requires."""


class Chart(StrictDefinition):
    """A chart: one mark per row, placed by two of its columns. For an arc, `y` is the size and `x` the color."""

    type: Literal["bar", "line", "area", "point", "arc"]
    x: _Column
    y: _Column
    color: _Column | None = None
    title: Annotated[str, StringConstraints(max_length=200)] = ""


class ChartRows(StrictDefinition):
    """Rows of a SELECT as JSON values: numbers, texts, booleans and null."""

    columns: tuple[tuple[str, str], ...]
    """The names and Spark types of the columns."""
    rows: tuple[tuple[Any, ...], ...]
    cut: bool = False
    """Whether the SELECT returned more rows."""


def collect_rows(frame: "DataFrame", most: int = MOST_ROWS) -> ChartRows:
    """Return the first rows of a frame, within `MOST_BYTES`. Raises `ChartError` if the first row alone is larger."""
    from pyspark.sql.conversion import ArrowTableToRowsConversion

    schema = frame.schema
    try:
        batches, is_cut = batches_within(_batches(frame.limit(most + 1)), MOST_BYTES)
    except RowSizeError as error:
        raise ChartError(str(error)) from None
    tables = map(pa.Table.from_batches, ([each] for each in batches))
    found = [row for table in tables for row in ArrowTableToRowsConversion.convert(table, schema)]
    columns = tuple((field.name, field.dataType.simpleString()) for field in schema.fields)
    return ChartRows(columns=columns, rows=tuple(map(as_json, found[:most])), cut=is_cut or len(found) > most)


def _batches(frame: Any) -> Iterator[pa.RecordBatch]:
    # The public calls return all rows at once, or create Python objects of them before their size is known.
    client = frame.sparkSession.client
    for each in client.to_table_as_iterator(frame._plan.to_proto(client), {}):  # noqa: SLF001
        if isinstance(each, pa.Table):
            yield from each.to_batches()


def as_json(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row with every value as a JSON value."""
    return tuple(map(_value, row))


def require_drawable(chart: Chart, rows: ChartRows) -> None:
    """Raise `ChartError` unless the rows have each column of the chart exactly once."""
    names = [name for name, _ in rows.columns]
    for each in (chart.x, chart.y, chart.color):
        if each is not None and names.count(each) != 1:
            has = "more than one" if each in names else "no"
            raise ChartError(
                f"the SELECT returns {has} column `{each}`, which `chart` names; return it once, or name another column in "
                f"`chart`; the SELECT returns {', '.join(f'`{n}`' for n in names)}"
            )


def require_writable_title(chart: Chart) -> None:
    """Raise `ChartError` if the title has a character that an SVG image cannot hold."""
    found = _NOT_IN_XML.search(chart.title)
    if found is not None:
        raise ChartError(
            f"`chart.title` contains U+{ord(found[0]):04X}, which an SVG image cannot hold; remove that character"
        )


def specify_chart(chart: Chart, rows: ChartRows) -> bytes:
    """Return the specification of the chart as JSON.

    Raises `ChartError` if the rows lack a column of the chart, or are too many or too large to be drawn.
    """
    require_drawable(chart, rows)
    if len(rows.rows) > MOST_DRAWN_ROWS:
        raise ChartError(
            f"the chart has {len(rows.rows):,} rows, but at most {MOST_DRAWN_ROWS:,} can be drawn (up to {MOST_ROWS:,} are "
            "stored); aggregate the rows in the SELECT, or give it a LIMIT"
        )
    specification = json.dumps(make_writable(_describe(chart, rows)), ensure_ascii=False).encode()
    if len(specification) > MOST_DRAWN_BYTES:
        raise ChartError(
            f"the chart has {len(specification) // 1024:,} KiB of values, but at most {MOST_DRAWN_BYTES // 1024:,} KiB can be "
            f"drawn (up to {MOST_BYTES // 1024:,} KiB are stored); select fewer rows or shorter texts"
        )
    return specification


def make_writable(value: Any) -> Any:
    """Return a JSON value with U+FFFD for each character, in its texts and names, that XML cannot hold."""
    match value:
        case str():
            return _NOT_IN_XML.sub(_REPLACEMENT, value)
        case Mapping():
            return {make_writable(name): make_writable(each) for name, each in value.items()}
        case list() | tuple():
            return [make_writable(each) for each in value]
        case _:
            return value


def _describe(chart: Chart, rows: ChartRows) -> dict[str, Any]:
    # Columns are renamed to letters: in a column's own name, Vega-Lite would read dots and brackets as a path.
    named = {letter: name for letter, name in (("x", chart.x), ("y", chart.y), ("c", chart.color)) if name is not None}
    places = {letter: [name for name, _ in rows.columns].index(name) for letter, name in named.items()}
    encoding = {
        channel: {"field": letter, "type": _measure(rows.columns[places[letter]][1]), "title": named[letter]}
        for channel, letter in _channels(chart).items()
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        **_SIZE,
        **({"title": chart.title} if chart.title else {}),
        "data": {"values": [{letter: row[place] for letter, place in places.items()} for row in rows.rows]},
        "mark": {"type": chart.type},
        "encoding": encoding,
    }


def _channels(chart: Chart) -> Mapping[str, str]:
    if chart.type == "arc":
        return {"theta": "y", "color": "x"}
    return {"x": "x", "y": "y", **({"color": "c"} if chart.color else {})}


def _measure(type: str) -> str:
    if type.startswith(_NUMBERS) and not type.startswith("interval"):
        return "quantitative"
    return "temporal" if type in _TIMES else "nominal"


def _value(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            found = value
        case float():
            found = value if math.isfinite(value) else None
        case decimal.Decimal():
            found = float(value)
        case dt.date() | dt.time():
            found = value.isoformat()
        case bytes() | bytearray():
            found = base64.b64encode(value).decode("ascii")
        case Mapping():
            found = {str(key): _value(each) for key, each in value.items()}
        case list() | tuple():
            found = [_value(each) for each in value]
        case _:
            found = str(value)
    return found
