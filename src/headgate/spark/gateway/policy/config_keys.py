"""Allow lists of configuration keys that users may read or change, each with its reason. All other keys are refused."""

from typing import Final

READABLE: Final = {
    "spark.connect.session.planCompression.defaultAlgorithm": "the client reads it before it sends a large plan",
    "spark.connect.session.planCompression.threshold": "the client reads it before it sends a large plan",
    "spark.python.sql.dataFrameDebugging.enabled": "the client reads it whenever it creates a column",
    "spark.sql.connect.serverStacktrace.enabled": "the client reads it when it shows an error",
    "spark.sql.execution.arrow.useLargeVarTypes": "createDataFrame",
    "spark.sql.execution.pandas.convertToArrowArraySafely": "createDataFrame",
    "spark.sql.execution.pandas.inferPandasDictAsMap": "createDataFrame",
    "spark.sql.execution.pythonUDF.arrow.enabled": "the client reads it when a UDF is created, before the UDF is refused",
    "spark.sql.execution.pythonUDTF.arrow.enabled": "the client reads it when a UDTF is created, before the UDTF is refused",
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled": "createDataFrame",
    "spark.sql.pyspark.jvmStacktrace.enabled": "the client reads it when it shows an error",
    "spark.sql.pyspark.legacy.inferArrayTypeFromFirstElement.enabled": "createDataFrame",
    "spark.sql.pyspark.legacy.inferMapTypeFromFirstPair.enabled": "createDataFrame",
    "spark.sql.pyspark.plotting.max_rows": "the client reads it before it plots",
    "spark.sql.session.localRelationBatchOfChunksSizeBytes": "createDataFrame with many rows",
    "spark.sql.session.localRelationCacheThreshold": "createDataFrame with many rows",
    "spark.sql.session.localRelationChunkSizeBytes": "createDataFrame with many rows",
    "spark.sql.session.localRelationChunkSizeRows": "createDataFrame with many rows",
}
"""Keys that the stock client reads by itself."""

SETTABLE: Final = {
    "spark.app.name": "every builder with an application name sets it; Spark Connect ignores it",
    "spark.sql.adaptive.enabled": "affects how a query runs, not which data it reads",
    "spark.sql.ansi.enabled": "whether overflows and invalid casts are errors",
    "spark.sql.autoBroadcastJoinThreshold": "affects how a query runs, not which data it reads",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "size of result batches",
    "spark.sql.execution.arrow.pyspark.enabled": "many notebooks set it; it has no effect, because Spark Connect always uses Arrow",
    "spark.sql.execution.arrow.pyspark.selfDestruct.enabled": "toPandas in the client",
    "spark.sql.execution.pandas.structHandlingMode": "toPandas in the client",
    "spark.sql.execution.pyspark.binaryAsBytes": "collect in the client",
    "spark.sql.repl.eagerEval.enabled": "how the client shows a DataFrame",
    "spark.sql.repl.eagerEval.maxNumRows": "how the client shows a DataFrame",
    "spark.sql.repl.eagerEval.truncate": "how the client shows a DataFrame",
    "spark.sql.session.timeZone": "how timestamps are displayed",
    "spark.sql.shuffle.partitions": "affects how a query runs, not which data it reads",
    "spark.sql.timestampType": "the type that TIMESTAMP denotes",
}
"""Keys that users may change and read in their own session."""
