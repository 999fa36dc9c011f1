"""The SELECT of a pipeline: run as a query and as nothing else, and held to the inputs that are declared."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints

from headgate.pipelines.definitions.definition import MAX_ENTRIES, PipelineDefinition, TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

    from headgate.pipelines.definitions.context import Range

_PART = r"(?:`(?:[^`]|``)++`|[^.`\s]++)"
_NAMED = re.compile(rf"^[ \t:+-]*+SubqueryAlias ({_PART}(?:\.{_PART}){{2,}})$", re.MULTILINE)
"""How Spark writes a table or view in an analyzed plan. An alias that somebody gives has one part, quoted if need be."""
_ANALYZED = "== Analyzed Logical Plan =="
_END = ";"


class InputsError(Exception):
    """What a SELECT reads and what is declared are not the same."""


class SelectingDefinition(PipelineDefinition):
    """What kinds with a SELECT have."""

    inputs: tuple[TableName, ...] = Field(
        min_length=1,
        max_length=MAX_ENTRIES,
        description="every table and view that the SELECT reads, those below a view too",
    )
    sql: Annotated[str, StringConstraints(min_length=1, max_length=1_000_000)] = Field(
        description="one SELECT; a backfill puts its range in the place of `:since` and `:until`, a usual run NULL"
    )


def wrap_query(sql: str) -> str:
    """Return a text that runs what stands in `sql` if it is a query, and that is no statement if it is anything else."""
    return f"SELECT * FROM (\n{sql.rstrip().removesuffix(_END)}\n)"  # noqa: S608 (it is what was asked to be run)


def select_rows(spark: "SparkSession", definition: SelectingDefinition, part: "Range | None" = None) -> "DataFrame":
    """Return the rows of a definition's SELECT, analyzed. Raises `InputsError` where it does not read what is declared.

    What it reads beyond that, Spark's guard has refused by then.
    """
    frame = spark.sql(wrap_query(definition.sql), args=parameter_values(part))
    told: Any = frame
    explained = told._explain_string(extended=True)  # noqa: SLF001 (the public way prints it)
    require_same(definition.inputs, reads(explained))
    return frame


def parameter_values(part: "Range | None") -> dict[str, str | None]:
    """Return the values of a SELECT's parameters."""
    return {"since": part.since if part else None, "until": part.until if part else None}


def reads(explained: str) -> frozenset[str]:
    """Return the full names of what a query reads, from what EXPLAIN EXTENDED says of it.

    A view counts, and what it reads counts too: views run with the rights of whoever uses them. A table's metadata,
    branches and old snapshots count as the table.
    """
    analyzed = explained.partition(_ANALYZED)[2].partition("\n== ")[0]
    names = (re.findall(_PART, each) for each in _NAMED.findall(analyzed))
    return frozenset(".".join(_plain(part) for part in parts[:3]) for parts in names)


def require_same(declared: Collection[str], read: Collection[str]) -> None:
    """Raise `InputsError` unless everything that is read is declared, and nothing else."""
    if undeclared := sorted(set(read).difference(declared)):
        raise InputsError(f"the SELECT reads {_format_names(undeclared)}: add it to `inputs`")
    if unread := sorted(set(declared).difference(read)):
        raise InputsError(f"the SELECT does not read {_format_names(unread)}: take it out of `inputs`")


def _plain(part: str) -> str:
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def _format_names(names: Collection[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
