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
 * Statements inside a command that describes them, such as EXPLAIN. Spark analyzes them when the command runs; the guard
 * analyzes and decides them before.
 */
object NestedStatements {
  /**
   * Decide on the statements inside a command, and return them. Throw `AccessDenied` if one is refused. Statements that act
   * while they are analyzed (CALL, EXECUTE IMMEDIATE) are left out.
   */
  def decided(session: SparkSession, command: LogicalPlan): Seq[LogicalPlan] = {
    val statements = PlanClasses.inner(command).filterNot(acts)
    statements.foreach(decide(session, _))
    statements
  }

  private def decide(session: SparkSession, statement: LogicalPlan): Unit =
    try session.sessionState.executePlan(statement, CommandExecutionMode.SKIP).assertAnalyzed()
    catch {
      case denied: AccessDenied => throw denied
      case NonFatal(_) => // an error of Spark's own, which the command reports in its own way
    }

  private def acts(statement: LogicalPlan): Boolean = PlanTraversal(statement).exists {
    case _: Call | _: UnresolvedExecuteImmediate => true
    case _ => false
  }
}

/**
 * Plans EXPLAIN so that it fails if the statement fails. Spark's own EXPLAIN returns the error as rows, from which the gateway
 * does not remove internal details.
 */
final class FailingExplain(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case explain: ExplainCommand => Seq(FailingExplainExec(session, explain))
    case _ => Nil
  }
}

/** EXPLAIN of a statement that Spark can analyze and plan; throws the error that prevents either. */
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
