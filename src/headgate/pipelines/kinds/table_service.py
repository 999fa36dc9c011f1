"""The kind `table_service`: maintains the files of one table by Iceberg's procedures, or registers it in another catalog."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from headgate.control.resources.attributes import KIND_ATTRIBUTE as ATTRIBUTE
from headgate.pipelines.connections.targets import http_of
from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.definition import MAX_ENTRIES, DefinitionName, PipelineDefinition, TableName
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.sql_quoting import quote_name, quote_table, quote_text
from headgate.pipelines.writing.metasync import register_external_table

_COLUMN = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^`]+$")]
OtherName = Annotated[str, StringConstraints(pattern=r"^[^./`*\s]+\.[^./`*\s]+$")]
_DAY = 24 * 3600.0


class TableServiceDefinition(PipelineDefinition):
    """Maintains the files of one table, `table`, under which it is saved."""

    kind: Literal["table_service"]
    table: TableName
    service: Literal["compaction", "clustering", "cleaning", "metasync"] = Field(
        description="`compaction` merges small files; `clustering` sorts similar rows together; `cleaning` expires old "
        "snapshots; `metasync` registers the table in another Iceberg catalog"
    )
    files: int = Field(
        default=5, ge=2, le=10_000, description="compaction: the minimum number of small files that are merged into one"
    )
    by: tuple[_COLUMN, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description="clustering: the columns by which rows are sorted together"
    )
    z_order: bool = Field(
        default=False, description="clustering: by all columns equally (z-order), and not by one after another"
    )
    keep_days: float = Field(
        default=5.0, ge=0, le=36_500, description="cleaning: the number of days for which old snapshots are kept"
    )
    keep_last: int = Field(
        default=1, ge=1, le=100_000, description="cleaning: the number of newest snapshots that are kept at any age"
    )

    connection: DefinitionName | None = Field(
        default=None, description="metasync: the connection to the other catalog, an Iceberg REST API"
    )
    catalog: DefinitionName | None = Field(
        default=None, description="metasync: the resource that represents the other catalog, if there is one"
    )
    into: OtherName | None = Field(
        default=None, description="metasync: the database and the table in the other catalog, as `database.table`"
    )

    @model_validator(mode="after")
    def _of_its_service(self) -> Self:
        if self.service == "clustering" and not self.by:
            raise ValueError("`clustering` has no columns; list them in `by`")
        if self.service != "clustering" and self.by:
            raise ValueError("`by` has a meaning only for `clustering`; remove `by`")
        if self.z_order and len(self.by) < 2:  # noqa: PLR2004 (one column has one order)
            raise ValueError("`z_order` needs at least two columns in `by`; add columns to `by`, or remove `z_order`")
        if self.service == "metasync" and not self.connection:
            raise ValueError("`metasync` has no `connection`; set it to the name of a connection to the other catalog")
        if self.service == "metasync" and not self.into:
            raise ValueError(
                "`metasync` has no `into`; set it to the database and table in the other catalog, such as `sales.orders`"
            )
        if self.service != "metasync" and self.connection and self.into:
            raise ValueError("`connection` and `into` have a meaning only for `metasync`; remove them")
        return self


def _touches(definition: TableServiceDefinition) -> DeclaredIO:
    named = {"connections": definition.connection, "catalog": definition.catalog}
    others = {relation: (name,) for relation, name in named.items() if name is not None}
    inputs = (definition.table,) if definition.service == "metasync" else ()
    return DeclaredIO(inputs, others=others, attributes={ATTRIBUTE: (definition.service,)})


def _run(definition: TableServiceDefinition, execution: RunExecution) -> None:
    if definition.connection is not None and definition.into is not None:
        _metasync(definition, definition.connection, definition.into, execution)
        return
    if execution.committed(definition.table):
        execution.say(f"an earlier attempt has done the {definition.service} of {definition.table}; skipping it")
        return
    statement = _STATEMENTS[definition.service](definition)
    (row,) = execution.spark.sql(statement).collect()
    done = {name: value for name, value in row.asDict().items() if isinstance(value, int)}
    for name, value in done.items():
        execution.metric(name, float(value))
    said = ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in done.items())
    execution.say(f"{definition.service} of {definition.table}: {said}")


def _metasync(definition: TableServiceDefinition, connection: str, into: str, execution: RunExecution) -> None:
    place = http_of(execution.place(connection), connection)
    log = execution.spark.table(f"{definition.table}.metadata_log_entries").orderBy("timestamp", ascending=False)
    (newest,) = log.select("file").limit(1).collect()
    register_external_table(place, into, newest.file, partial(execution.wait, 0))
    execution.say(f"registered the present state of {definition.table} as `{into}` in the catalog of `{connection}`")


def _compaction(definition: TableServiceDefinition) -> str:
    return _rewrite(definition, f"options => map('min-input-files', '{definition.files}')")


def _clustering(definition: TableServiceDefinition) -> str:
    columns = [quote_name(each) for each in definition.by]
    order = f"zorder({', '.join(columns)})" if definition.z_order else ", ".join(columns)
    sorting = f"strategy => 'sort', sort_order => {quote_text(order)}"
    return _rewrite(definition, f"{sorting}, options => map('rewrite-all', 'true')")


def _cleaning(definition: TableServiceDefinition) -> str:
    oldest = datetime.fromtimestamp(time.time() - definition.keep_days * _DAY, UTC)
    kept = f"older_than => TIMESTAMP '{oldest:%Y-%m-%d %H:%M:%S.%f}Z', retain_last => {definition.keep_last}"
    return f"CALL lake.system.expire_snapshots(table => {_table(definition)}, {kept})"


def _rewrite(definition: TableServiceDefinition, how: str) -> str:
    return f"CALL lake.system.rewrite_data_files(table => {_table(definition)}, {how})"


def _table(definition: TableServiceDefinition) -> str:
    return quote_text(quote_table(definition.table))


_STATEMENTS: Mapping[str, Callable[[TableServiceDefinition], str]] = {
    "compaction": _compaction,
    "clustering": _clustering,
    "cleaning": _cleaning,
}

KIND = Kind("table_service", TableServiceDefinition, _touches, _run)
