"""The SELECT of a pipeline: it can run only as a query, and it must read exactly the declared inputs."""

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
"""A table or view in Spark's analyzed plan. An alias in the SQL text has one part only, quoted if necessary."""
_ANALYZED = "== Analyzed Logical Plan =="
_END = ";"


class InputsError(Exception):
    """The tables that a SELECT reads differ from the declared inputs."""


class SelectingDefinition(PipelineDefinition):
    """The fields of the kinds with a SELECT."""

    inputs: tuple[TableName, ...] = Field(
        min_length=1,
        max_length=MAX_ENTRIES,
        description="every table and view that the SELECT reads, also those that a view reads",
    )
    sql: Annotated[str, StringConstraints(min_length=1, max_length=1_000_000)] = Field(
        description="one SELECT; a backfill binds its range to `:since` and `:until`, a usual run binds NULL"
    )


def wrap_query(sql: str) -> str:
    """Return a statement that runs `sql` as a subquery: any text that is not a query becomes a syntax error."""
    return f"SELECT * FROM (\n{sql.rstrip().removesuffix(_END)}\n)"  # noqa: S608 (the user's own SQL)


def select_rows(spark: "SparkSession", definition: SelectingDefinition, part: "Range | None" = None) -> "DataFrame":
    """Return the rows of a definition's SELECT, analyzed. Raises `InputsError` if it does not read the declared inputs.

    The guard in Spark has already refused a SELECT that reads undeclared tables.
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
    """Return the full names of the tables and views that a query reads, from its EXPLAIN EXTENDED.

    A view counts, and so do the tables that it reads: views run with the privileges of the user who queries them. A table's
    metadata, branches and old snapshots count as the table.
    """
    analyzed = explained.partition(_ANALYZED)[2].partition("\n== ")[0]
    names = (re.findall(_PART, each) for each in _NAMED.findall(analyzed))
    return frozenset(".".join(_plain(part) for part in parts[:3]) for parts in names)


def require_same(declared: Collection[str], read: Collection[str]) -> None:
    """Raise `InputsError` unless the declared and the read names are the same."""
    if undeclared := sorted(set(read).difference(declared)):
        raise InputsError(
            f"`inputs` lacks {_format_names(undeclared)}, which the SELECT reads; add {_them(undeclared)} to `inputs`"
        )
    if unread := sorted(set(declared).difference(read)):
        raise InputsError(
            f"`inputs` lists {_format_names(unread)}, which the SELECT does not read; leave {_them(unread)} out of `inputs`"
        )


def _plain(part: str) -> str:
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def _them(names: Collection[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _format_names(names: Collection[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
