"""Why a message type or a field of Spark Connect 4.1.4 does not pass. A name covers everything below it."""

from typing import Final

_USER_CODE = "user code does not run in the driver"
_STREAM = "streams are not supported"
_PATH = "paths are reached through a declared connection only"
_ML = "machine learning commands load classes and paths by name"
_PIPELINE = "declarative pipelines create tables without a plan that could be decided on"
_CACHE = "cached data is shared by all sessions"
_OPAQUE = "extensions cannot be looked into"
_FUNCTIONS = "the list of functions is shared by all sessions"
_RESOURCES = "the resources of the cluster are the operator's business"
_REMOTE = "relations by id are not given out"
_CATALOGS = "catalogs are the operator's business"
_JVM = "only JVM clients send it"

REFUSED: Final = {
    "AnalyzePlanRequest.Explain": "plans show more than their result",
    "AnalyzePlanRequest.GetStorageLevel": _CACHE,
    "AnalyzePlanRequest.InputFiles": "file names are not for users",
    "AnalyzePlanRequest.Persist": _CACHE,
    "AnalyzePlanRequest.Unpersist": _CACHE,
    "ApplyInPandasWithState": _USER_CODE,
    "CacheTable": _CACHE,
    "CachedLocalRelation": "only clients before 4.1 send it",
    "CachedRemoteRelation": _REMOTE,
    "CheckpointCommand": "a checkpoint would outlive the right to read it",
    "ClearCache": _CACHE,
    "CoGroupMap": _USER_CODE,
    "CommonInlineUserDefinedDataSource": _USER_CODE,
    "CommonInlineUserDefinedFunction": _USER_CODE,
    "CommonInlineUserDefinedTableFunction": _USER_CODE,
    "ConfigRequest.GetAll": "read the keys that you need one by one",
    "CreateDataFrameViewCommand.is_global": "global temporary views are shared by all sessions",
    "CreateExternalTable": _PATH,
    "CreateResourceProfileCommand": _RESOURCES,
    "CreateTable": "use `CREATE TABLE` in SQL",
    "DataType.UDT": "user-defined types load classes by name",
    "DropGlobalTempView": "global temporary views are shared by all sessions",
    "ExecuteExternalCommand": "external commands load classes by name",
    "ExecutorResourceRequest": _RESOURCES,
    "Expression.UnresolvedFunction.is_internal": "internal functions are Spark's own",
    "Fetch": _ML,
    "FunctionExists": _FUNCTIONS,
    "GetDatabase": "the location of a database is not for users; use `databaseExists`",
    "GetFunction": _FUNCTIONS,
    "GetResourcesCommand": _RESOURCES,
    "GroupMap": _USER_CODE,
    "IsCached": _CACHE,
    "JavaUDF": _USER_CODE,
    "JvmOrigin": _JVM,
    "ListCatalogs": _CATALOGS,
    "ListFunctions": _FUNCTIONS,
    "MapPartitions": _USER_CODE,
    "MergeIntoTableCommand.with_schema_evolution": "alter the table before the merge instead",
    "MlCommand": _ML,
    "MlOperator": _ML,
    "MlParams": _ML,
    "MlRelation": _ML,
    "ObjectRef": _ML,
    "Parse": "it is not supported; read the files through a declared connection",
    "PipelineCommand": _PIPELINE,
    "Plan.CompressedOperation": "it is unpacked before it is looked at, and nothing in it is packed again",
    "PythonDataSource": _USER_CODE,
    "PythonUDF": _USER_CODE,
    "PythonUDTF": _USER_CODE,
    "Read.DataSource.predicates": "databases are reached through a declared connection only",
    "Read.is_streaming": _STREAM,
    "RecoverPartitions": "it has no plan that could be decided on",
    "RefreshByPath": _PATH,
    "RefreshTable": _CACHE,
    "RemoveCachedRemoteRelationCommand": _REMOTE,
    "ResourceProfile": _RESOURCES,
    "ScalarScalaUDF": _USER_CODE,
    "SetCurrentCatalog": "use `USE` in SQL",
    "SetCurrentDatabase": "use `USE` in SQL",
    "SourceCodeLocation": _PIPELINE,
    "StackTraceElement": _JVM,
    "StorageLevel": _CACHE,
    "StreamingForeachFunction": _USER_CODE,
    "StreamingQueryCommand": _STREAM,
    "StreamingQueryInstanceId": _STREAM,
    "StreamingQueryListenerBusCommand": _STREAM,
    "StreamingQueryManagerCommand": _STREAM,
    "TaskResourceRequest": _RESOURCES,
    "TransformWithStateInfo": _USER_CODE,
    "TypedAggregateExpression": _USER_CODE,
    "UncacheTable": _CACHE,
    "Unknown": "it means nothing",
    "WriteOperation.path": _PATH,
    "WriteStreamOperationStart": _STREAM,
    "google.protobuf.Any": _OPAQUE,
}


def reason(name: str) -> str | None:
    """Return why the message type or field is refused, by its own entry or that of a type around it."""
    while name:
        if name in REFUSED:
            return REFUSED[name]
        name = name.rpartition(".")[0]
    return None
