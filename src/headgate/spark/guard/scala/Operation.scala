package io.headgate.guard

import org.apache.spark.sql.SparkSession

/**
 * What the work on this thread is called outside the driver, so that it can be stopped: the id of a Spark
 * Connect operation, or `stream:` and the id of a streaming query. Analysis alone, and what Spark does of its
 * own accord, has no name. Nothing is decided by it: a pool's thread may carry the tag of an older operation.
 */
object Operation {
  private val Tag = "SparkConnect_OperationTag_User_.*_Session_.*_Operation_([^_,]+)".r
  private val Tags = "spark.job.tags"
  private val Stream = "sql.streaming.queryId"

  def current(session: SparkSession): Option[String] = {
    def property(key: String): Option[String] = Option(session.sparkContext.getLocalProperty(key))
    property(Stream).map("stream:" + _).orElse(property(Tags).flatMap(_.split(',').collectFirst { case Tag(id) => id }))
  }
}
