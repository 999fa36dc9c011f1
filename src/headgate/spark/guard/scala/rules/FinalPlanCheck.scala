package io.headgate.guard.rules

import io.headgate.guard.catalog.ProcedureRun
import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.{ColumnLineage, ObjectNames, PlanClasses, PlanTraversal, RequiredPrivileges, RetainedRelations, ReviewedClasses, SessionVariables}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * The third moment: the plan as it will run. Every class in it must have been reviewed, and every privilege that it requires
 * must have been decided.
 */
final class FinalPlanCheck(session: SparkSession) extends (LogicalPlan => Unit) {
  private val names = new ObjectNames(session)
  private val needs = new RequiredPrivileges(session)
  private val columns = new ColumnLineage(session)

  override def apply(plan: LogicalPlan): Unit = {
    if (!ReviewedClasses.isEncoderOfRows(plan) && !ProcedureRun.passes(session, plan, names)) {
      val walk = PlanTraversal.of(plan, unless = PlanClasses.inner)
      walk.all.foreach(ReviewedClasses.requireAnalyzed)
      StatementContext.close(session, walk.nodes.flatMap(needs.of).toSet, plan.nodeName, walk.nodes.exists(RetainedRelations.isRead))
      SessionVariables.assigned(session, plan)
      StatementContext.tell(session, columns.written(plan))
    }
  }
}
