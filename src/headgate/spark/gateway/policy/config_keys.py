"""The configuration keys that users may read and change, each with its reason. No other key passes either way."""

from typing import Final

READABLE: Final = {
    "spark.connect.session.planCompression.defaultAlgorithm": "the client asks before it sends a large plan",
    "spark.connect.session.planCompression.threshold": "the client asks before it sends a large plan",
    "spark.python.sql.dataFrameDebugging.enabled": "the client asks whenever a column is made",
    "spark.sql.connect.serverStacktrace.enabled": "the client asks when it shows an error",
    "spark.sql.execution.arrow.useLargeVarTypes": "createDataFrame",
    "spark.sql.execution.pandas.convertToArrowArraySafely": "createDataFrame",
    "spark.sql.execution.pandas.inferPandasDictAsMap": "createDataFrame",
    "spark.sql.execution.pythonUDF.arrow.enabled": "the client asks when a UDF is made, before it is refused",
    "spark.sql.execution.pythonUDTF.arrow.enabled": "the client asks when a UDTF is made, before it is refused",
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled": "createDataFrame",
    "spark.sql.pyspark.jvmStacktrace.enabled": "the client asks when it shows an error",
    "spark.sql.pyspark.legacy.inferArrayTypeFromFirstElement.enabled": "createDataFrame",
    "spark.sql.pyspark.legacy.inferMapTypeFromFirstPair.enabled": "createDataFrame",
    "spark.sql.pyspark.plotting.max_rows": "the client asks before it plots",
    "spark.sql.session.localRelationBatchOfChunksSizeBytes": "createDataFrame with much data",
    "spark.sql.session.localRelationCacheThreshold": "createDataFrame with much data",
    "spark.sql.session.localRelationChunkSizeBytes": "createDataFrame with much data",
    "spark.sql.session.localRelationChunkSizeRows": "createDataFrame with much data",
}
"""What the stock client asks for itself."""

SETTABLE: Final = {
    "spark.app.name": "every builder with an application name sets it; Spark ignores it here",
    "spark.sql.adaptive.enabled": "how a query runs, not what it reads",
    "spark.sql.ansi.enabled": "overflow and cast errors",
    "spark.sql.autoBroadcastJoinThreshold": "how a query runs, not what it reads",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "size of result batches",
    "spark.sql.execution.arrow.pyspark.enabled": "notebooks set it out of habit; Connect is always Arrow",
    "spark.sql.execution.arrow.pyspark.selfDestruct.enabled": "toPandas in the client",
    "spark.sql.execution.pandas.structHandlingMode": "toPandas in the client",
    "spark.sql.execution.pyspark.binaryAsBytes": "collect in the client",
    "spark.sql.repl.eagerEval.enabled": "how the client shows a DataFrame",
    "spark.sql.repl.eagerEval.maxNumRows": "how the client shows a DataFrame",
    "spark.sql.repl.eagerEval.truncate": "how the client shows a DataFrame",
    "spark.sql.session.timeZone": "how timestamps are shown",
    "spark.sql.shuffle.partitions": "how a query runs, not what it reads",
    "spark.sql.timestampType": "which type TIMESTAMP means",
}
"""What users may change, and read, in their own session."""
