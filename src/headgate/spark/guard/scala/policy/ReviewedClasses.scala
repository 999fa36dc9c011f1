package io.headgate.guard.policy

import io.headgate.guard.expressions.GuardExpression
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{DeserializeToObject, LocalRelation, LogicalPlan}

/** Checks that the class of a node has been reviewed. */
object ReviewedClasses {
  /** Throw `AccessDenied` unless the node may be in a statement that is not resolved yet. */
  def requireParsed(node: PlanTraversal.Node): Unit = node match {
    case plan: LogicalPlan if PlanClasses.of(plan).isEmpty => Refusal.node(plan)
    case _ => requireExpression(node)
  }

  /** Throw `AccessDenied` unless the node may be in a statement that will run. */
  def requireAnalyzed(node: PlanTraversal.Node): Unit = node match {
    case plan: LogicalPlan if PlanClasses.of(plan).forall(_.isParsedOnly) => Refusal.node(plan)
    case _ => requireExpression(node)
  }

  /**
   * Whether the plan is not a statement but Spark's binding of an encoder to a schema, which Spark does over an empty relation.
   * Such a plan reads nothing and never runs; encoders of users' own classes come with user code, which is refused.
   */
  def isEncoderOfRows(plan: LogicalPlan): Boolean = plan match {
    case DeserializeToObject(_, _, LocalRelation(_, Seq(), _, _)) => true
    case _ => false
  }

  private def requireExpression(node: PlanTraversal.Node): Unit = node match {
    case _: GuardExpression =>
    case expression: Expression =>
      if (!AllowLists.expressions(expression.getClass.getName.stripSuffix("$"))) Refusal.node(expression)
      ExpressionParameters.check(expression)
    case _ =>
  }
}
