package io.headgate.guard.driver

import java.util.Properties

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SQLExecution

/**
 * Operation ids, by which work can be stopped: the id of a Spark Connect operation, `stream:` and the id of a streaming query,
 * or the id of a call that only analyzes. Work that Spark starts of its own accord has no id. No access decision depends on an
 * id.
 */
object OperationId {
  private val Tag = "SparkConnect_OperationTag_User_.*_Session_.*_Operation_([^_,]+)".r
  private val Tags = "spark.job.tags"
  private val Stream = "sql.streaming.queryId"
  private val StreamName = "stream:"
  private val Pool = "spark.scheduler.pool"
  private val Analysis = "headgate.analysis"

  /** Whether this is the id of a streaming query. */
  def isStream(operation: String): Boolean = operation.startsWith(StreamName)

  /** Return the id by which this thread's work is known outside of the driver; a call that only analyzes has none there. */
  def current(session: SparkSession): Option[String] = named(key => Option(session.sparkContext.getLocalProperty(key)))

  /** Return the id of the operation or of the analysis of this thread. */
  def ofThread(session: SparkSession): Option[String] =
    current(session).orElse(Option(session.sparkContext.getLocalProperty(Analysis)))

  /** Return the id of the work that a job or a stage with these properties belongs to. */
  def named(properties: Properties): Option[String] = named(property(properties, _)).orElse(property(properties, Analysis))

  /** Set the analysis that the jobs of this thread belong to from now on, or remove it. */
  def nameAnalysis(name: Option[String]): Unit = SparkContext.getOrCreate().setLocalProperty(Analysis, name.orNull)

  /** Return the scheduler pool of this thread's work: that of its principal. Work that Spark starts of its own accord has none. */
  def ownerOfThread(spark: SparkContext): Option[String] = Option(spark.getLocalProperty(Pool))

  /** Return the scheduler pool of work with these properties: that of its principal. */
  def owner(properties: Properties): String = property(properties, Pool).getOrElse("default")

  /**
   * Return the SQL execution that work with these properties is part of. Work of an RDD alone, and of most analyses, is part of
   * none.
   */
  def execution(properties: Properties): Option[Long] =
    property(properties, SQLExecution.EXECUTION_ID_KEY).flatMap(_.toLongOption)

  private def property(properties: Properties, key: String): Option[String] =
    Option(properties).flatMap(all => Option(all.getProperty(key)))

  private def named(property: String => Option[String]): Option[String] =
    property(Stream).map(StreamName + _).orElse(property(Tags).flatMap(_.split(',').collectFirst { case Tag(id) => id }))
}
