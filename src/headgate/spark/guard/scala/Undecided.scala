package io.headgate.guard

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The third moment: the plan as it will run. Nothing in it may be unknown, and no need of it undecided. */
final class Undecided(session: SparkSession) extends (LogicalPlan => Unit) {
  private val names = new Names(session)

  override def apply(plan: LogicalPlan): Unit = {
    if (!Known.isEncoderOfRows(plan) && !ProcedureRun.passes(plan, names)) {
      val nodes = Walk(plan, unless = AnalyzedNeeds.targets)
      nodes.foreach(Known.requireAnalyzed)
      Statement.close(session, nodes.flatMap(AnalyzedNeeds.of).toSet, plan.nodeName)
    }
  }
}
