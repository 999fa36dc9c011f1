package io.headgate.guard.rules

import io.headgate.guard.catalog.ProcedureRun
import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.{ComputedText, NodeRestrictions, ObjectNames, PlanClasses, PlanTraversal, RequiredPrivileges, ReviewedClasses}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * The second moment: names are resolved, and Spark has not raised errors about columns yet, which would reveal the columns of a
 * table that the caller may not read.
 */
final class ResolvedPlanRule(session: SparkSession) extends Rule[LogicalPlan] {
  private val limits = new NodeRestrictions(session)
  private val needs = new RequiredPrivileges(session)
  private val names = new ObjectNames(session)

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (!ReviewedClasses.isEncoderOfRows(plan) && !ProcedureRun.passes(session, plan, names)) {
      val walk = PlanTraversal.of(plan, unless = PlanClasses.inner)
      walk.all.foreach { node =>
        ReviewedClasses.requireParsed(node)
        limits.check(node)
      }
      if (StatementContext.sinceBegin(session).exists(_.computes)) ComputedText.refuseToKeep(plan)
      StatementContext.require(session, walk.nodes.flatMap(needs.of).toSet, plan.nodeName)
    }
    plan
  }
}
