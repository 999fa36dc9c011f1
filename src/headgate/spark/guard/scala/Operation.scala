package io.headgate.guard

import java.util.Properties

import org.apache.spark.sql.SparkSession

/**
 * What the work on this thread is called outside the driver, so that it can be stopped: the id of a Spark
 * Connect operation, or `stream:` and the id of a streaming query. Analysis alone, and what Spark does of its
 * own accord, has no name. Nothing is decided by it: a pool's thread may carry the tag of an older operation.
 */
object Operation {
  private val Tag = "SparkConnect_OperationTag_User_(.*)_Session_.*_Operation_([^_,]+)".r
  private val Tags = "spark.job.tags"
  private val Stream = "sql.streaming.queryId"
  private val Pool = "spark.scheduler.pool"

  def current(session: SparkSession): Option[String] = named(local(session, _))

  /** The user that the statement on this thread is for. */
  def user(session: SparkSession): Option[String] = tagged(local(session, _)).map(_._1)

  /** The principal of a user: the gateway names a user by principal and token. */
  def principal(user: String): String = user.takeWhile(_ != ':')

  /** The name of the work that a job or a stage with these properties belongs to. */
  def named(properties: Properties): Option[String] = named(key => Option(properties).flatMap(all => Option(all.getProperty(key))))

  /** The pool that work with these properties is in: that of its principal. */
  def owner(properties: Properties): String = Option(properties).flatMap(all => Option(all.getProperty(Pool))).getOrElse("default")

  private def named(property: String => Option[String]): Option[String] =
    property(Stream).map("stream:" + _).orElse(tagged(property).map(_._2))

  private def tagged(property: String => Option[String]): Option[(String, String)] =
    property(Tags).flatMap(_.split(',').collectFirst { case Tag(user, id) => user -> id })

  private def local(session: SparkSession, key: String): Option[String] = Option(session.sparkContext.getLocalProperty(key))
}
