package io.headgate.guard.memory

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.execution.command.LeafRunnableCommand

/** Removes the rows from the cache that the session has cached; Spark's own CLEAR CACHE would remove those of all sessions. */
final case class ClearSessionCache() extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    SessionMemory.clearCache(session)
    Nil
  }
}
