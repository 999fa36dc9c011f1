"""Why a message type or a field of Spark Connect 4.1.4 does not pass. A name covers everything below it."""

from typing import Final

from headgate.spark.gateway.policy import user_code

_PATH = "paths are reached through a declared connection only"
_ML = "machine learning commands load classes and paths by name"
_PIPELINE = "declarative pipelines take code and create tables without a plan that could be decided on"
_LISTENERS = "listeners on the server are user code beside the driver"
_PLACE = "the place of a table is chosen by Headgate"
_USE = "it is put into SQL before it is looked at"
_CACHE = "cached data is shared by all sessions"
_OPAQUE = "extensions cannot be looked into"
_RESOURCES = "the resources of the cluster are the operator's business"
_JVM = "only JVM clients send it"

REFUSED: Final = {
    **dict.fromkeys(user_code.MESSAGES, user_code.REFUSAL),
    "CachedLocalRelation": "only clients before 4.1 send it",
    "ClearCache": _CACHE,
    "ConfigRequest.GetAll": "read the keys that you need one by one",
    "CreateDataFrameViewCommand.is_global": "global temporary views are shared by all sessions",
    "CreateExternalTable": _PATH,
    "CreateResourceProfileCommand": _RESOURCES,
    "CreateTable.options": _PLACE,
    "CreateTable.path": _PLACE,
    "DataType.UDT": "user-defined types load classes by name",
    "DropGlobalTempView": "global temporary views are shared by all sessions",
    "ExecuteExternalCommand": "external commands load classes by name",
    "ExecutorResourceRequest": _RESOURCES,
    "Expression.UnresolvedFunction.is_internal": "internal functions are Spark's own",
    "Fetch": _ML,
    "GetResourcesCommand": _RESOURCES,
    "JvmOrigin": _JVM,
    "MergeIntoTableCommand.with_schema_evolution": "alter the table before the merge instead",
    "MlCommand": _ML,
    "MlOperator": _ML,
    "MlParams": _ML,
    "MlRelation": _ML,
    "ObjectRef": _ML,
    "Parse": "it is not supported; read the files through a declared connection",
    "PipelineCommand.DefineFlow": _PIPELINE,
    "PipelineCommand.DefineFlowQueryFunctionResult": _PIPELINE,
    "PipelineCommand.DefineOutput": _PIPELINE,
    "PipelineCommand.DefineSqlGraphElements": _PIPELINE,
    "PipelineCommand.GetQueryFunctionExecutionSignalStream": _PIPELINE,
    "PipelineCommand.StartRun": _PIPELINE,
    "Plan.CompressedOperation": "it is unpacked before it is looked at, and nothing in it is packed again",
    "Read.DataSource.predicates": "databases are reached through a declared connection only",
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
    "Unknown": "it means nothing",
    "WriteStreamOperationStart.continuous_checkpoint_interval": "what runs continuously is never asked about again; use a processing time",
    "WriteStreamOperationStart.path": _PATH,
    "google.protobuf.Any": _OPAQUE,
}


def reason(name: str) -> str | None:
    """Return why the message type or field is refused, by its own entry or that of a type around it."""
    while name:
        if name in REFUSED:
            return REFUSED[name]
        name = name.rpartition(".")[0]
    return None
