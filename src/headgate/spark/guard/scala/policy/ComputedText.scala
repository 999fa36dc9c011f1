package io.headgate.guard.policy

import org.apache.spark.sql.catalyst.analysis.{LocalTempView, PlanWithUnresolvedIdentifier, UnresolvedAttribute, UnresolvedExecuteImmediate}
import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{CacheTableAsSelect, CreateVariable, LogicalPlan}
import org.apache.spark.sql.execution.command.{AlterViewAsCommand, CreateSQLFunctionCommand, CreateViewCommand, SetCommand}

/**
 * Statements whose text, or a name in it, is computed by EXECUTE IMMEDIATE or IDENTIFIER. If it is computed from rows, every
 * command that lists the names or settings of the session would show these rows, even after a revoke.
 */
object ComputedText {
  /** Whether the text or a name of the statement is computed from more than constants of its own. */
  def isIn(plan: LogicalPlan): Boolean = plan.exists {
    case execute: UnresolvedExecuteImmediate => execute.expressions.exists(readsNames)
    case name: PlanWithUnresolvedIdentifier => readsNames(name.identifierExpr)
    case _ => false
  }

  /** Throw `AccessDenied` if a statement that is computed from rows would leave a name or a value in the session. */
  def refuseToKeep(plan: LogicalPlan): Unit = plan match {
    case view: CreateViewCommand if view.viewType == LocalTempView => refuse()
    case _: AlterViewAsCommand | _: CacheTableAsSelect | _: CreateVariable | _: CreateSQLFunctionCommand => refuse()
    case set: SetCommand if set.kv.exists(_._2.nonEmpty) => refuse()
    case _ =>
  }

  private def readsNames(expression: Expression): Boolean = expression.exists {
    case _: UnresolvedAttribute | _: SubqueryExpression => true
    case _ => false
  }

  private def refuse(): Nothing =
    Refusal.because("EXECUTE IMMEDIATE and IDENTIFIER cannot create a view, variable, function or setting if their text is computed from rows of a table: the text would show these rows to later statements of the session; write the statement or the name as a literal")
}
