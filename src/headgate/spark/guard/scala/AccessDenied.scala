package io.headgate.guard

import org.apache.spark.SparkThrowable

/** A refusal. The client sees SQLSTATE 42501 and the message, which must say nothing the asker may not know. */
class AccessDenied(message: String) extends RuntimeException(message) with SparkThrowable {
  override def getCondition: String = "HEADGATE_ACCESS_DENIED"

  override def getSqlState: String = "42501"
}
