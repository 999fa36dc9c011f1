"""Charts: rows of a SELECT, drawn by Vega-Lite from a description that nobody but this module writes."""

import base64
import datetime as dt
import decimal
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
from pydantic import StringConstraints

from headgate.pipelines.definition import Strict
from headgate.pipelines.json_size import RowSizeError, within

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_ROWS = 5_000
"""More rows are not kept, and nobody could tell them apart."""

MOST_BYTES = 4 * 1024**2
"""More is not kept, by the estimate of the rows as JSON: each view of the chart makes all of it."""

_Column = Annotated[str, StringConstraints(min_length=1, max_length=255)]
_SIZE = {"width": 640, "height": 360}
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz")


class ChartError(Exception):
    """The rows cannot be drawn as the definition says."""


class Chart(Strict):
    """What is drawn: a mark for each row, at what two of its columns say. An arc's size is `y`, and its colour `x`."""

    type: Literal["bar", "line", "area", "point", "arc"]
    x: _Column
    y: _Column
    color: _Column | None = None
    title: Annotated[str, StringConstraints(max_length=200)] = ""


class Rows(Strict):
    """Rows of a SELECT as JSON has them: numbers, texts, truth values and null."""

    columns: tuple[tuple[str, str], ...]
    """Names and Spark's types."""
    rows: tuple[tuple[Any, ...], ...]
    cut: bool = False
    """Whether there were more."""


def gathered(frame: "DataFrame", most: int = MOST_ROWS) -> Rows:
    """Return the first rows of a frame, within `MOST_BYTES`. Raises `ChartError` for a row that is too large by itself."""
    from pyspark.sql.conversion import ArrowTableToRowsConversion

    schema = frame.schema
    try:
        batches, is_cut = within(_batches(frame.limit(most + 1)), MOST_BYTES)
    except RowSizeError as error:
        raise ChartError(str(error)) from None
    tables = map(pa.Table.from_batches, ([each] for each in batches))
    found = [row for table in tables for row in ArrowTableToRowsConversion.convert(table, schema)]
    columns = tuple((field.name, field.dataType.simpleString()) for field in schema.fields)
    return Rows(columns=columns, rows=tuple(map(as_json, found[:most])), cut=is_cut or len(found) > most)


def _batches(frame: Any) -> Iterator[pa.RecordBatch]:
    # The public calls return all rows at once, or make Python objects of them before their size is known.
    client = frame.sparkSession.client
    for each in client.to_table_as_iterator(frame._plan.to_proto(client), {}):  # noqa: SLF001
        if isinstance(each, pa.Table):
            yield from each.to_batches()


def as_json(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row with every value as JSON has it."""
    return tuple(map(_value, row))


def require_drawable(chart: Chart, rows: Rows) -> None:
    """Raise `ChartError` unless the rows have the columns of the chart."""
    names = [name for name, _ in rows.columns]
    for each in (chart.x, chart.y, chart.color):
        if each is not None and names.count(each) != 1:
            has = "more than one" if each in names else "no"
            raise ChartError(f"the SELECT gives {has} column `{each}`; it gives {', '.join(f'`{n}`' for n in names)}")


def drawn(chart: Chart, rows: Rows) -> str:
    """Return the chart as SVG, drawn without any network. Raises `ChartError`."""
    import vl_convert  # loaded when somebody looks at a chart: it takes a while

    require_drawable(chart, rows)
    try:
        return str(vl_convert.vegalite_to_svg(_described(chart, rows), allowed_base_urls=[]))
    except ValueError as error:
        raise ChartError("the rows cannot be drawn as this chart") from error


def _described(chart: Chart, rows: Rows) -> dict[str, Any]:
    # Columns go by letters: in a name of its own, Vega-Lite would take dots and brackets for paths.
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
