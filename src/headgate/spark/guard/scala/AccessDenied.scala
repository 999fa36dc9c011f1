package io.headgate.guard

import org.apache.spark.{QueryContext, SparkException}

/** A refusal. The client sees SQLSTATE 42501 and the message, which must say nothing the asker may not know. */
class AccessDenied(message: String)
    extends SparkException(message, null, Some("HEADGATE_ACCESS_DENIED"), Map.empty[String, String], Array.empty[QueryContext]) {
  override def getSqlState: String = "42501"
}
