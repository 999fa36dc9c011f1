package io.headgate.guard

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * The first moment: a parsed statement, before Spark resolves a name in it. Analysis can act - CALL runs, a
 * file is listed, an inline table is evaluated - and its errors tell of columns, so whatever is not known to
 * be harmless stops here, and every need that the names give is asked for.
 */
final class Gate(session: SparkSession) extends Rule[LogicalPlan] {
  private val limits = new Limits(session)
  private val names = new Names(session)
  private val needs = new Needs(session)
  private val connections = new Connections(session)

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val described = Described.decided(session, plan)
    Kept.made(plan, Statement.sinceBegin(session))
    if (Statement.sinceBegin(session).exists(_.computes)) ComputedText.refuseToKeep(plan)
    Statement.begin(session)
    NestedCommands.refuse(plan)
    if (!Known.isEncoderOfRows(plan) && !ProcedureRun.passes(session, plan, names)) {
      val walk = Walk.of(Identifiers.completed(plan), unless = PlanClasses.inner(_).filter(part => described.exists(_ eq part)))
      walk.all.foreach { node =>
        Known.requireParsed(node)
        limits.check(node)
      }
      val open = walk.nodes.flatMap(needs.of).toSet
      Statement.require(session, open, plan.nodeName)
      Kept.started(plan, open)
      if (ComputedText.isIn(plan)) Statement.computes(session)
    }
    connections.placed(Streams.placed(plan))
  }
}
