package io.headgate.guard.policy

import java.util.UUID

import org.apache.spark.{QueryContext, SparkException}
import org.apache.spark.sql.catalyst.SqlScriptingContextManager

/**
 * A refusal. The client sees SQLSTATE 42501 and the message, which must say nothing the asker may not know.
 *
 * A script cannot catch it: as long as one runs, the refusal has a condition that nobody can name and a state of
 * the class that `SQLEXCEPTION` leaves out and no handler may name.
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
