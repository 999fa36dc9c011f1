package io.headgate.guard.policy

import java.util.UUID

import org.apache.spark.{QueryContext, SparkException}
import org.apache.spark.sql.catalyst.SqlScriptingContextManager

/**
 * Access denied. The client receives SQLSTATE 42501 and the message, which must reveal nothing that the caller may not know.
 *
 * A SQL script cannot catch it. While a script runs, the refusal has a random condition that no handler can name, and a
 * SQLSTATE of the class `XX`, which `SQLEXCEPTION` does not cover and no handler may name.
 */
class AccessDenied(message: String)
    extends SparkException(message, null, Some(AccessDenied.Condition), Map.empty[String, String], Array.empty[QueryContext]) {
  override def getSqlState: String = if (isInScript) AccessDenied.Uncaught else AccessDenied.State

  override def getCondition: String = if (isInScript) UUID.randomUUID.toString else AccessDenied.Condition

  private def isInScript: Boolean = SqlScriptingContextManager.get().isDefined
}

private[guard] object AccessDenied {
  val Condition = "HEADGATE_ACCESS_DENIED"
  val State = "42501"
  val Uncaught = "XX000"
}
