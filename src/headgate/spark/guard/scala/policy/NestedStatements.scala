package io.headgate.guard.policy

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedExecuteImmediate
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{Call, ExecutableDuringAnalysis, LogicalPlan}
import org.apache.spark.sql.execution.{CommandExecutionMode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.execution.datasources.v2.LeafV2CommandExec
import org.apache.spark.unsafe.types.UTF8String

/**
 * Statements that a command describes, as EXPLAIN does. Spark analyzes them when the command runs; they are analyzed and
 * decided before.
 */
object NestedStatements {
  /** Decides on the statements in a command and returns them; throws `AccessDenied`. Those that act while they are analyzed are left. */
  def decided(session: SparkSession, command: LogicalPlan): Seq[LogicalPlan] = {
    val statements = PlanClasses.inner(command).filterNot(acts)
    statements.foreach(decide(session, _))
    statements
  }

  private def decide(session: SparkSession, statement: LogicalPlan): Unit =
    try session.sessionState.executePlan(statement, CommandExecutionMode.SKIP).assertAnalyzed()
    catch {
      case denied: AccessDenied => throw denied
      case NonFatal(_) => // Spark's own error, which the command tells in its own way
    }

  private def acts(statement: LogicalPlan): Boolean = PlanTraversal(statement).exists {
    case _: Call | _: UnresolvedExecuteImmediate => true
    case _ => false
  }
}

/** Plans EXPLAIN so that it fails where the statement does. Spark's own gives the error as rows, which nothing scrubs. */
final class FailingExplain(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case explain: ExplainCommand => Seq(FailingExplainExec(session, explain))
    case _ => Nil
  }
}

/** EXPLAIN of a statement that Spark can analyze and plan; throws what keeps Spark from that. */
final case class FailingExplainExec(of: SparkSession, explain: ExplainCommand) extends LeafV2CommandExec {
  override def output: Seq[Attribute] = explain.output

  override protected def run(): Seq[InternalRow] = {
    val statement = explain.logicalPlan.transform { case act: ExecutableDuringAnalysis => act.stageForExplain() }
    val execution = of.sessionState.executePlan(statement, CommandExecutionMode.SKIP)
    execution.assertAnalyzed()
    if (!execution.analyzed.isStreaming) execution.executedPlan
    Seq(InternalRow(UTF8String.fromString(execution.explainString(explain.mode))))
  }
}
