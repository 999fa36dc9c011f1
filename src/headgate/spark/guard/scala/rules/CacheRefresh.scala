package io.headgate.guard.rules

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2._

/**
 * Cache refresh after a write. Spark rebuilds the rows of the table that other sessions have cached, in the session that wrote.
 * Rows that its principal may not read cannot be rebuilt: they are dropped from the cache, and the write, which is committed,
 * succeeds.
 */
object CacheRefresh extends ColumnarRule with Logging {
  override def preColumnarTransitions: Rule[SparkPlan] = {
    case write: AppendDataExec => write.copy(refreshCache = tried(write.refreshCache))
    case write: OverwriteByExpressionExec => write.copy(refreshCache = tried(write.refreshCache))
    case write: OverwritePartitionsDynamicExec => write.copy(refreshCache = tried(write.refreshCache))
    case write: ReplaceDataExec => write.copy(refreshCache = tried(write.refreshCache))
    case write: WriteDeltaExec => write.copy(refreshCache = tried(write.refreshCache))
    case write: DeleteFromTableExec => write.copy(refreshCache = tried(write.refreshCache))
    case write: TruncateTableExec => write.copy(refreshCache = tried(write.refreshCache))
    case write: RefreshTableExec => write.copy(refreshCache = tried(write.refreshCache))
    case other => other
  }

  private def tried(refresh: () => Unit): () => Unit = () =>
    try refresh()
    catch { case NonFatal(error) => logInfo(s"cached rows of a written table were dropped, because they could not be read again: ${error.getClass.getName}; the write succeeded") }
}
