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

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val nodes = Walk(plan, unless = AnalyzedNeeds.targets)
    nodes.foreach { node =>
      Known.requireParsed(node)
      limits.check(node)
    }
    Statement.require(session, nodes.flatMap(AnalyzedNeeds.of).toSet, plan.nodeName)
    plan
  }
}
