package io.headgate.guard

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The third moment: the plan as it will run. Nothing in it may be unknown, and no need of it undecided. */
final class Undecided(session: SparkSession) extends (LogicalPlan => Unit) {
  private val names = new Names(session)
  private val needs = new Needs(session)
  private val columns = new Columns(session)

  override def apply(plan: LogicalPlan): Unit = {
    if (!Known.isEncoderOfRows(plan) && !ProcedureRun.passes(session, plan, names)) {
      val walk = Walk.of(plan, unless = PlanClasses.inner)
      walk.all.foreach(Known.requireAnalyzed)
      Statement.close(session, walk.nodes.flatMap(needs.of).toSet, plan.nodeName, walk.nodes.exists(Kept.isRead))
      Variables.assigned(session, plan)
      Statement.tell(session, columns.written(plan))
    }
  }
}
