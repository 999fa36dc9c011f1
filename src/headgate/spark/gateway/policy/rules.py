"""Rules for the values of allowed fields: names, paths, options, schemas and configuration keys."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headgate.facts.caller import Caller
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy import config_keys, ml_requests, options, user_code
from headgate.spark.gateway.policy.schemas import check_schema, check_schema_metadata
from headgate.spark.gateway.policy.streams import GENERATED, check_stream_sink, check_stream_source
from headgate.spark.gateway.policy.values import (
    check_decimal,
    check_name,
    check_options,
    check_property_keys,
    check_write_options,
)

MayAccess = Callable[[Caller, str, str], bool]
"""Whether a run may perform an action (`path.read`) on a path, by the connections of its pipeline and its run-as principal."""


def _allow_any_time() -> None:
    """Set no time limit on the check of a request."""


@dataclass(frozen=True, slots=True)
class RequestingCaller:
    """The caller of a request, the check of the paths that the caller may access, and the time limit of the request's check."""

    caller: Caller
    may_touch: MayAccess
    require_time: Callable[[], None] = _allow_any_time


Rule = Callable[[Any, RequestingCaller], None]
"""Raises `RequestRefusedError`. The message is `Any`: `RULES` maps the name of each message type to its rule."""

_NOT_IN_A_PATH: Final = re.compile(r"[*?\[\]{}]|(?:^|/)\.\.(?:/|$)")
_TAG: Final = re.compile(r"[^,\s]([^,\r\n]{0,126}[^,\s])?")
_PLAIN: Final = re.compile(r"\w+")
_DATABASE: Final = "jdbc"
_COLLECTIONS: Final = frozenset({"array", "map", "map_from_arrays", "map_from_entries", "named_struct", "struct"})
_WRITE_FORMATS: Final = frozenset({""}) | options.TABLE_FORMATS
_NOWHERE: Final = "noop"
"""The sink that computes the rows and discards them."""


def _name(*fields: str) -> Rule:
    def rule(message: Any, _reader: RequestingCaller) -> None:
        for field in fields:
            check_name(getattr(message, field))

    return rule


def _schema(field: str) -> Rule:
    def rule(message: Any, _reader: RequestingCaller) -> None:
        check_schema(getattr(message, field))

    return rule


def _decimal(message: Any, _reader: RequestingCaller) -> None:
    check_decimal(message.value)


def _only(check: Callable[[Any], None]) -> Rule:
    """Return the rule of a check that does not depend on the caller."""

    def rule(message: Any, _reader: RequestingCaller) -> None:
        check(message)

    return rule


def _metadata(message: Any, _reader: RequestingCaller) -> None:
    check_schema_metadata(message.metadata)


def _check_named_table(message: Any, _reader: RequestingCaller) -> None:
    check_name(message.unparsed_identifier)
    check_options(message.options, options.TABLE_READ, "the option `{}` of table reads")


def _read(message: Any, reader: RequestingCaller) -> None:
    if message.is_streaming and message.HasField("data_source"):
        _check_stream(message.data_source, reader)
    elif message.HasField("data_source") and message.data_source.format == _DATABASE and reader.caller.run is not None:
        _check_table(message.data_source)
    elif message.HasField("data_source"):
        _check_files(message.data_source, reader)


def _stream(message: Any, reader: RequestingCaller) -> None:
    place = check_stream_sink(message)
    if place is not None and (
        reader.caller.run is None or not reader.may_touch(reader.caller, "path.checkpoint", place)
    ):
        raise RequestRefusedError(
            "the option `checkpointLocation` is not allowed, because Headgate chooses where a streaming query keeps its checkpoint; leave the option out"
        )


def _check_stream(source: Any, reader: RequestingCaller) -> None:
    if reader.caller.run is None or source.format in GENERATED:
        check_stream_source(source)
        return
    if not source.schema:
        raise RequestRefusedError("the streaming read of files has no schema; set its columns with `schema`")
    _check_files(source, reader, options.FILE_STREAM)


def _check_table(source: Any) -> None:
    """Allow a run to read a table of a database by the name of a connection; the guard decides whether the run may use it."""
    if source.paths:
        raise RequestRefusedError(
            "the read of an external database has a path; name the table in the option `dbtable` instead"
        )
    if source.schema:
        raise RequestRefusedError(
            "a read of an external database cannot set its columns with `.schema(...)`; leave that call out, the columns are those of the table"
        )
    check_options(source.options, options.DATABASE_READ, "the option `{}` of external databases")


def _check_files(message: Any, reader: RequestingCaller, allowed: frozenset[str] = options.FILE_READ) -> None:
    if reader.caller.run is None:
        raise RequestRefusedError(
            "reading a data source (`Read.DataSource`) is not allowed: only a run of a pipeline reads files and external databases, through the connections "
            "that it declares; read a table with `spark.table` instead"
        )
    if message.format not in options.FILE_FORMATS:
        raise RequestRefusedError(
            f"the format `{message.format}` is not allowed; use {', '.join(sorted(options.FILE_FORMATS))}"
        )
    if not message.paths:
        raise RequestRefusedError("the read of files names no path; pass at least one path to `load`")
    check_schema(message.schema)
    check_options(message.options, allowed, "the option `{}` of file reads")
    for path in message.paths:
        _check_path(path, "path.read", reader)


def _check_path(path: str, action: str, reader: RequestingCaller) -> None:
    if _NOT_IN_A_PATH.search(path):
        raise RequestRefusedError(f"the path `{path}` contains a wildcard or `..`; name the exact file or folder")
    if not reader.may_touch(reader.caller, action, path):
        raise RequestRefusedError(
            f"the run may not access the path `{path}`; use a path of a connection that the pipeline declares"
        )


def _query(*fields: str) -> Rule:
    """Return a rule that allows the analysis of queries only; Spark cannot answer it for commands."""

    def rule(message: Any, _reader: RequestingCaller) -> None:
        if not all(getattr(message, field).HasField("root") for field in fields):
            raise RequestRefusedError(
                "`schema`, `explain` and other analyses work on a query, and the request has a command; analyse a query instead"
            )

    return rule


def _sql_arguments(message: Any, _reader: RequestingCaller) -> None:
    for argument in (*message.named_arguments.values(), *message.pos_arguments):
        _check_argument(argument)


def _check_argument(argument: Any) -> None:
    """Allow literals and collections of literals. Spark would evaluate any other expression while it parses the statement."""
    kind = argument.WhichOneof("expr_type")
    if kind in {"literal", "common_inline_user_defined_function"}:
        return  # the check of its message type refuses the latter
    call = argument.unresolved_function
    if kind != "unresolved_function" or call.function_name not in _COLLECTIONS:
        raise RequestRefusedError(
            "a parameter of the SQL statement is not a literal; pass a literal, or an array, map or struct of literals"
        )
    for each in call.arguments:
        _check_argument(each)


def _create_table(message: Any, _reader: RequestingCaller) -> None:
    check_name(message.table_name)
    _check_write_format(message.source)


def _write(message: Any, reader: RequestingCaller) -> None:
    if message.HasField("path"):
        _check_written_files(message, reader)
        return
    if message.source == _DATABASE and not message.HasField("table") and reader.caller.run is not None:
        _check_written_table(message)
        return
    if message.source == _NOWHERE and not message.HasField("table"):
        check_options(message.options, frozenset(), "the option `{}` of the `noop` sink")
        return
    if not message.HasField("table"):
        raise RequestRefusedError("the write names no table; use `saveAsTable` or `writeTo`")
    check_name(message.table.table_name)
    _check_write_format(message.source)
    check_write_options(message.options, options.TABLE_WRITE, "the option `{}` of table writes")


def _check_written_table(message: Any) -> None:
    _check_plain(message)
    if message.partitioning_columns:
        raise RequestRefusedError(
            "a table of an external database cannot be partitioned by Spark; leave `partitionBy` out"
        )
    check_options(message.options, options.DATABASE_WRITE, "the option `{}` of external databases")


def _check_plain(message: Any) -> None:
    if message.sort_column_names or message.HasField("bucket_by") or message.clustering_columns:
        raise RequestRefusedError(
            "a write to files or an external database cannot sort, bucket or cluster; leave `sortBy`, `bucketBy` and `clusterBy` out"
        )


def _check_written_files(message: Any, reader: RequestingCaller) -> None:
    if reader.caller.run is None:
        raise RequestRefusedError(
            "writing to a path (`WriteOperation.path`) is not allowed: only a run of a pipeline writes files, through the connections that it "
            "declares; write to a table with `saveAsTable` instead"
        )
    if message.source not in options.FILE_FORMATS:
        raise RequestRefusedError(
            f"the format `{message.source}` is not allowed; use {', '.join(sorted(options.FILE_FORMATS))}"
        )
    _check_plain(message)
    check_options(message.options, options.FILE_WRITE, "the option `{}` of file writes")
    for key, value in message.options.items():
        if key.lower() == "compression" and not _PLAIN.fullmatch(value):
            raise RequestRefusedError("the option `compression` is not a codec name; use a plain word such as `gzip`")
    _check_path(message.path, "path.write", reader)


def _write_v2(message: Any, _reader: RequestingCaller) -> None:
    check_name(message.table_name)
    _check_write_format(message.provider)
    check_write_options(message.options, options.TABLE_WRITE, "the option `{}` of table writes")
    check_property_keys(message.table_properties)


def _check_write_format(name: str) -> None:
    if name.lower() not in _WRITE_FORMATS:
        raise RequestRefusedError(
            f"the table format `{name}` is not allowed: all tables are Iceberg tables; leave the format out, or name that of its files: "
            f"{', '.join(sorted(options.TABLE_FORMATS - {'iceberg'}))}"
        )


def _artifact(message: Any, _reader: RequestingCaller) -> None:
    """Check the name of an artifact. `artifacts.verify_hashes` checks its content once it is complete."""
    _check_artifact_name(message.name)


def _chunked_artifact(message: Any, _reader: RequestingCaller) -> None:
    _check_artifact_name(message.name)
    if not message.initial_chunk.data:
        raise RequestRefusedError(
            "the client began the upload of an artifact with an empty chunk; upload it with a PySpark 4.1 client, or put the first bytes of the artifact into the first chunk"
        )


def _artifact_names(message: Any, _reader: RequestingCaller) -> None:
    for name in message.names:
        _check_artifact_name(name)


def _check_artifact_name(name: str) -> None:
    if not user_code.is_artifact_of_data(name):
        raise RequestRefusedError(f"the artifact `{name}` is not allowed: {user_code.REFUSAL}")


def _tags(message: Any, _reader: RequestingCaller) -> None:
    """Refuse tags that look like Spark's own: Spark joins all tags, and identifies users and sessions by its own tags."""
    for tag in message.tags:
        if not _TAG.fullmatch(tag):
            raise RequestRefusedError(
                "an operation tag is empty, longer than 128 characters, or has a comma or a line break; use 1 to 128 other characters"
            )
        if "_Session_" in tag or tag.startswith("SparkConnect"):
            raise RequestRefusedError(
                "an operation tag contains `_Session_` or begins with `SparkConnect`, which Spark reserves; choose another tag"
            )


def _unset(message: Any, _reader: RequestingCaller) -> None:
    for key in message.keys:
        _raise(config_keys.describe_refused_key(key))


def _set(message: Any, _reader: RequestingCaller) -> None:
    for pair in message.pairs:
        _require_settable(pair.key, pair.value)


def _dataflow_graph(message: Any, _reader: RequestingCaller) -> None:
    """Allow the listed settings only: Spark keeps those of a graph beside those of the session."""
    for key, value in message.sql_conf.items():
        if config_keys.is_own(key):
            raise RequestRefusedError(f"a dataflow graph has no configuration keys of its own; leave `{key[:100]}` out")
        _require_settable(key, value)


def _require_settable(key: str, value: str) -> None:
    _raise(config_keys.describe_refused_setting(key, value))


def _raise(why: str | None) -> None:
    if why is not None:
        raise RequestRefusedError(why)


def _readable(keys: Callable[[Any], Iterable[str]]) -> Rule:
    def rule(message: Any, _reader: RequestingCaller) -> None:
        for key in keys(message):
            if not config_keys.is_readable(key):
                raise RequestRefusedError(
                    f"the configuration key `{key}` cannot be read by users; ask the operator for its value"
                )

    return rule


def _keys(message: Any) -> Iterable[str]:
    return message.keys


def _pair_keys(message: Any) -> Iterable[str]:
    return (pair.key for pair in message.pairs)


RULES: Final[Mapping[str, Rule]] = {
    "AddArtifactsRequest.BeginChunkedArtifact": _chunked_artifact,
    "AddArtifactsRequest.SingleChunkArtifact": _artifact,
    "AnalyzePlanRequest.Explain": _query("plan"),
    "AnalyzePlanRequest.InputFiles": _query("plan"),
    "AnalyzePlanRequest.IsLocal": _query("plan"),
    "AnalyzePlanRequest.IsStreaming": _query("plan"),
    "AnalyzePlanRequest.JsonToDDL": _schema("json_string"),
    "AnalyzePlanRequest.SameSemantics": _query("target_plan", "other_plan"),
    "AnalyzePlanRequest.Schema": _query("plan"),
    "AnalyzePlanRequest.SemanticHash": _query("plan"),
    "AnalyzePlanRequest.TreeString": _query("plan"),
    "ArtifactStatusesRequest": _artifact_names,
    "CacheTable": _name("table_name"),
    "ConfigRequest.Get": _readable(_keys),
    "ConfigRequest.GetOption": _readable(_keys),
    "ConfigRequest.GetWithDefault": _readable(_pair_keys),
    "ConfigRequest.IsModifiable": _readable(_keys),
    "ConfigRequest.Set": _set,
    "ConfigRequest.Unset": _unset,
    "CreateTable": _create_table,
    "DataType.StructField": _metadata,
    "DataType.UDT": _only(ml_requests.check_user_type),
    "DataType.Unparsed": _schema("data_type_string"),
    "DatabaseExists": _name("db_name"),
    "ExecutePlanRequest": _tags,
    "Expression.Alias": _metadata,
    "Expression.Cast": _schema("type_str"),
    "Expression.Literal.Decimal": _decimal,
    "Fetch": _only(ml_requests.check_fetch),
    "GetDatabase": _name("db_name"),
    "GetTable": _name("table_name", "db_name"),
    "IsCached": _name("table_name"),
    "ListColumns": _name("table_name", "db_name"),
    "ListFunctions": _name("db_name"),
    "ListTables": _name("db_name"),
    "LocalRelation": _schema("schema"),
    "MergeIntoTableCommand": _name("target_table_name"),
    "MlCommand.Evaluate": _only(ml_requests.check_evaluation),
    "MlCommand.Fit": _only(ml_requests.check_fit),
    "MlOperator": _only(ml_requests.check_operator),
    "MlParams": _only(ml_requests.check_parameters),
    "MlRelation.Transform": _only(ml_requests.check_transform),
    "ObjectRef": _only(ml_requests.check_object),
    "PipelineCommand.CreateDataflowGraph": _dataflow_graph,
    "Read": _read,
    "Read.NamedTable": _check_named_table,
    "RecoverPartitions": _name("table_name"),
    "RefreshTable": _name("table_name"),
    "SQL": _sql_arguments,
    "SqlCommand": _sql_arguments,
    "TableExists": _name("table_name", "db_name"),
    "UncacheTable": _name("table_name"),
    "WriteOperation": _write,
    "WriteOperationV2": _write_v2,
    "WriteStreamOperationStart": _stream,
}
"""Message type -> the rule for its values. Without an entry, every value of an allowed field passes."""
