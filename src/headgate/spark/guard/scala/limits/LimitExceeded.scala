package io.headgate.guard.limits

import org.apache.spark.{QueryContext, SparkException}

/** A statement exceeds a limit of this Spark. The client receives the SQLSTATE and the message. */
final class LimitExceeded(message: String, state: String = LimitExceeded.TooLarge)
    extends SparkException(message, null, Some(LimitExceeded.Condition), Map.empty[String, String], Array.empty[QueryContext]) {
  override def getSqlState: String = state
}

object LimitExceeded {
  val Condition = "HEADGATE_LIMIT_EXCEEDED"

  /** A value or a setting is too large. */
  val TooLarge = "54000"

  /** A statement is nested too deeply or has too many parts. */
  val TooComplex = "54001"

  /** The operator's limits ended a running statement. */
  val Ended = "57014"
}
