package io.headgate.guard

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Whether a node's class has been reviewed. */
object Known {
  /** Throws `AccessDenied` unless the node may stand in a statement that is not resolved yet. */
  def requireParsed(node: Walk.Node): Unit = node match {
    case plan: LogicalPlan if !Lists.plans(name(plan)) && !Lists.parsedPlans(name(plan)) => Refuse.node(plan)
    case _ => requireExpression(node)
  }

  /** Throws `AccessDenied` unless the node may stand in a statement that will run. */
  def requireAnalyzed(node: Walk.Node): Unit = node match {
    case plan: LogicalPlan if !Lists.plans(name(plan)) => Refuse.node(plan)
    case _ => requireExpression(node)
  }

  private def requireExpression(node: Walk.Node): Unit = node match {
    case expression: Expression if !Lists.expressions(name(expression)) => Refuse.node(expression)
    case _ =>
  }

  private def name(node: Walk.Node): String = node.getClass.getName.stripSuffix("$")
}
