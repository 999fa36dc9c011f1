package io.headgate.guard

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedExecuteImmediate
import org.apache.spark.sql.catalyst.plans.logical.{Call, LogicalPlan}
import org.apache.spark.sql.execution.CommandExecutionMode
import org.apache.spark.sql.execution.command.ExplainCommand

/**
 * Statements that a command describes, as EXPLAIN does. Spark analyzes them when the command runs, and EXPLAIN shows
 * a refusal as if it were a plan; so they are analyzed and decided before.
 */
object Described {
  /** Decides on the statements in a command and returns them; throws `AccessDenied`. Those that act while they are analyzed are left. */
  def decided(session: SparkSession, command: LogicalPlan): Seq[LogicalPlan] = {
    val statements = PlanClasses.inner(command).filterNot(acts)
    statements.foreach(decide(session, _, isExplained = command.isInstanceOf[ExplainCommand]))
    statements
  }

  /** EXPLAIN gives an error as rows, and rows are not looked at on their way; so an error ends it, as it ends any statement. */
  private def decide(session: SparkSession, statement: LogicalPlan, isExplained: Boolean): Unit =
    try {
      val execution = session.sessionState.executePlan(statement, CommandExecutionMode.SKIP)
      execution.assertAnalyzed()
      if (isExplained && !statement.isStreaming) execution.executedPlan
    } catch {
      case denied: AccessDenied => throw denied
      case NonFatal(_) if !isExplained => // Spark's own error, which the command tells in its own way
    }

  private def acts(statement: LogicalPlan): Boolean = Walk(statement).exists {
    case _: Call | _: UnresolvedExecuteImmediate => true
    case _ => false
  }
}
