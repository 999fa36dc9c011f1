package io.headgate.guard.policy

import org.apache.spark.sql.catalyst.analysis.{LocalTempView, PlanWithUnresolvedIdentifier, UnresolvedAttribute, UnresolvedExecuteImmediate}
import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{CacheTableAsSelect, CreateVariable, LogicalPlan}
import org.apache.spark.sql.execution.command.{CreateSQLFunctionCommand, CreateViewCommand, SetCommand}

/**
 * Statements whose text or name another statement computes, with EXECUTE IMMEDIATE or IDENTIFIER. Where it is computed of
 * rows, whatever shows the names or the settings of a session would show these rows, after a revoke too.
 */
object ComputedText {
  /** Whether a statement is computed of more than constants of its own. */
  def isIn(plan: LogicalPlan): Boolean = plan.exists {
    case execute: UnresolvedExecuteImmediate => execute.expressions.exists(readsNames)
    case name: PlanWithUnresolvedIdentifier => readsNames(name.identifierExpr)
    case _ => false
  }

  /** Throws `AccessDenied` if a statement that is computed of rows would leave a name or a value in the session. */
  def refuseToKeep(plan: LogicalPlan): Unit = plan match {
    case view: CreateViewCommand if view.viewType == LocalTempView => refuse()
    case _: CacheTableAsSelect | _: CreateVariable | _: CreateSQLFunctionCommand => refuse()
    case set: SetCommand if set.kv.exists(_._2.nonEmpty) => refuse()
    case _ =>
  }

  private def readsNames(expression: Expression): Boolean = expression.exists {
    case _: UnresolvedAttribute | _: SubqueryExpression => true
    case _ => false
  }

  private def refuse(): Nothing =
    Refusal.because("a view, variable, function or setting cannot be made by a statement whose text is computed of what was read; write its text out")
}
