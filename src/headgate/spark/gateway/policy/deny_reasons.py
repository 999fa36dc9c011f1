"""Reasons for refused message types and fields of Spark Connect 4.1.4. The entry of a name covers everything below it."""

from typing import Final

from headgate.spark.gateway.policy import user_code

_PATH = "a file path can be used only through a connection that a pipeline declares; use a table instead"
_MODEL_FILES = "models and pipelines are not written to files or read from them; fit the model again in each Spark session, or write its numbers, such as `coefficients`, to a table"
_PIPELINE = (
    "declarative pipelines run code and create tables that Headgate cannot check; define a Headgate pipeline instead"
)
_LISTENERS = "Headgate does not send the events of streaming queries to listeners; read `lastProgress` of the streaming query instead"
_PLACE = "Headgate chooses where a table is stored; leave `path` and `options` out"
_USE = "Headgate allows the change of the current catalog or database only in SQL; use `USE` or `SET CATALOG` instead"
_CACHE = (
    "all sessions share the cached data; use the SQL statement `CLEAR CACHE`, which clears what your session has cached"
)
_OPAQUE = "Headgate cannot check what an extension contains; use a PySpark 4.1 client without extensions"
_RESOURCES = "the operator manages the resources of the cluster; leave resource requests and profiles out"
_JVM = "it says where the code of a Scala or Java program is, which Headgate does not need; leave it out"
_GLOBAL_VIEW = "all sessions share global temporary views; use a temporary view instead"

REFUSED: Final = {
    **dict.fromkeys(user_code.MESSAGES, user_code.REFUSAL),
    "CachedLocalRelation": "only clients before 4.1 send it; use a PySpark 4.1 client",
    "ClearCache": _CACHE,
    "ConfigRequest.GetAll": "it would also return settings of the operator; read single keys with `spark.conf.get`",
    "CreateDataFrameViewCommand.is_global": _GLOBAL_VIEW,
    "CreateExternalTable": _PATH,
    "CreateResourceProfileCommand": _RESOURCES,
    "CreateTable.options": _PLACE,
    "CreateTable.path": _PLACE,
    "DataType.UDT.serialized_python_class": "it is Python code; use the vectors and matrices of `pyspark.ml`",
    "DropGlobalTempView": _GLOBAL_VIEW,
    "ExecuteExternalCommand": "external commands load classes by name; use SQL or DataFrame operations instead",
    "ExecutorResourceRequest": _RESOURCES,
    "Expression.UnresolvedFunction.is_internal": "only Spark itself may call its internal functions; call a public function instead",
    "GetResourcesCommand": _RESOURCES,
    "JvmOrigin": _JVM,
    "MlCommand.CreateSummary": "Headgate keeps the summaries of models in memory; fit the model again",
    "MlCommand.Read": _MODEL_FILES,
    "MlCommand.Write": _MODEL_FILES,
    "MlRelation.model_summary_dataset": "Headgate keeps the summaries of models in memory, and removes it",
    "Parse": "Headgate does not parse the rows of a DataFrame with `spark.read`; use `from_csv` or `from_json`, or read files through a connection that a pipeline declares",
    "PipelineCommand.DefineFlow": _PIPELINE,
    "PipelineCommand.DefineFlowQueryFunctionResult": _PIPELINE,
    "PipelineCommand.DefineOutput": _PIPELINE,
    "PipelineCommand.DefineSqlGraphElements": _PIPELINE,
    "PipelineCommand.GetQueryFunctionExecutionSignalStream": _PIPELINE,
    "PipelineCommand.StartRun": _PIPELINE,
    "Plan.CompressedOperation": "the request is compressed twice; compress the request only once",
    "Read.DataSource.predicates": "`predicates` would become part of the SQL for the external database; leave them out, and filter the DataFrame with `where`",
    "RefreshByPath": _PATH,
    "ResourceProfile": _RESOURCES,
    "SetCurrentCatalog": _USE,
    "SetCurrentDatabase": _USE,
    "SourceCodeLocation": _PIPELINE,
    "StackTraceElement": _JVM,
    "StreamingQueryListenerBusCommand": _LISTENERS,
    "StreamingQueryManagerCommand.StreamingQueryListenerCommand": _LISTENERS,
    "StreamingQueryManagerCommand.list_listeners": _LISTENERS,
    "TaskResourceRequest": _RESOURCES,
    "Unknown": "it has no meaning in a query; use a PySpark 4.1 client",
    "WriteStreamOperationStart.continuous_checkpoint_interval": "Headgate cannot check the privileges of a continuous query while it runs; use the trigger `processingTime`",
    "WriteStreamOperationStart.path": _PATH,
    "google.protobuf.Any": _OPAQUE,
}

_IN_PROGRAMS: Final = {
    "ApplyInPandasWithState": "`applyInPandasWithState`",
    "CoGroupMap": "`cogroup(...).applyInPandas`",
    "CommonInlineUserDefinedDataSource": "a data source in Python",
    "CommonInlineUserDefinedFunction": "a user-defined function (`udf`, `pandas_udf`)",
    "CommonInlineUserDefinedTableFunction": "a user-defined table function (`udtf`)",
    "CreateDataFrameViewCommand.is_global": "`createGlobalTempView`",
    "DropGlobalTempView": "`dropGlobalTempView`",
    "GroupMap": "`groupBy(...).applyInPandas`",
    "MapPartitions": "`mapInPandas`, `mapInArrow` or `foreach`",
    "RefreshByPath": "`refreshByPath`",
    "StreamingForeachFunction": "`foreach` or `foreachBatch`",
    "StreamingQueryListenerBusCommand": "`spark.streams.addListener`",
    "TransformWithStateInfo": "`transformWithState`",
    "WriteStreamOperationStart.path": "`writeStream.start` with a path",
}
"""How programs ask for message types and fields: a user does not know their own names."""


def name_in_programs(name: str) -> str:
    """Return how programs ask for the message type or field, or its own name."""
    return _IN_PROGRAMS.get(name, f"`{name}`")


def reason(name: str) -> str | None:
    """Return why the message type or field is refused, or None; an entry of an enclosing type also counts."""
    while name:
        if name in REFUSED:
            return REFUSED[name]
        name = name.rpartition(".")[0]
    return None
