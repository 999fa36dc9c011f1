package io.headgate.guard

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * The first moment: a parsed statement, before Spark resolves a name in it. Analysis can act - CALL runs, a
 * file is listed, an inline table is evaluated - so whatever is not known to be harmless stops here.
 */
final class Gate(session: SparkSession) extends Rule[LogicalPlan] {
  private val limits = new Limits(session)
  private val needs = new ParsedNeeds(session)

  override def apply(plan: LogicalPlan): LogicalPlan = {
    Statement.requirePrincipal(session)
    val nodes = Walk(plan)
    nodes.foreach { node =>
      Known.requireParsed(node)
      limits.check(node)
    }
    Statement.require(session, nodes.flatMap(needs.of).toSet, plan.nodeName)
    plan
  }
}
