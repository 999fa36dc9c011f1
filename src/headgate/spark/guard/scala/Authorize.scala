package io.headgate.guard

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * The second moment: names are resolved, and errors about columns have not been raised yet - they would show
 * the columns of a table that the asker may not read.
 */
final class Authorize(session: SparkSession) extends Rule[LogicalPlan] {
  private val limits = new Limits(session)
  private val needs = new Needs(session)
  private val names = new Names(session)

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (!Known.isEncoderOfRows(plan) && !ProcedureRun.passes(session, plan, names)) {
      val walk = Walk.of(plan, unless = PlanClasses.inner)
      walk.all.foreach { node =>
        Known.requireParsed(node)
        limits.check(node)
      }
      if (Statement.sinceBegin(session).exists(_.computes)) ComputedText.refuseToKeep(plan)
      Statement.require(session, walk.nodes.flatMap(needs.of).toSet, plan.nodeName)
    }
    plan
  }
}
