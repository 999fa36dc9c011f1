package io.headgate.guard.rules

import io.headgate.guard.catalog.ProcedureRun
import io.headgate.guard.client.StatementContext
import io.headgate.guard.connections.Connections
import io.headgate.guard.policy.{ComputedText, DeferredIdentifiers, NestedCommands, NestedStatements, NodeRestrictions, ObjectNames, PlanClasses, PlanTraversal, RequiredPrivileges, RetainedRelations, ReviewedClasses}
import io.headgate.guard.streams.Streams
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * The first moment: a parsed statement, before Spark resolves a name in it. Analysis can have effects (CALL runs, a file is
 * listed, an inline table is evaluated), and its errors reveal columns. So every node that is not known to be harmless is
 * refused here, and every privilege that follows from the names is decided.
 */
final class ParsedPlanRule(session: SparkSession) extends Rule[LogicalPlan] {
  private val limits = new NodeRestrictions(session)
  private val names = new ObjectNames(session)
  private val needs = new RequiredPrivileges(session)
  private val connections = new Connections(session)

  override def apply(parsed: LogicalPlan): LogicalPlan = {
    val plan = SessionCommands.placed(parsed)
    val described = NestedStatements.decided(session, plan)
    RetainedRelations.made(plan, StatementContext.sinceBegin(session))
    if (StatementContext.sinceBegin(session).exists(_.computes)) ComputedText.refuseToKeep(plan)
    StatementContext.begin(session)
    NestedCommands.refuse(plan)
    if (!ReviewedClasses.isEncoderOfRows(plan) && !ProcedureRun.passes(session, plan, names)) {
      val walk = PlanTraversal.of(DeferredIdentifiers.completed(plan), unless = PlanClasses.inner(_).filter(part => described.exists(_ eq part)))
      walk.all.foreach { node =>
        ReviewedClasses.requireParsed(node)
        limits.check(node)
      }
      val open = walk.nodes.flatMap(needs.of).toSet
      StatementContext.require(session, open, plan.nodeName)
      RetainedRelations.started(plan, open)
      if (ComputedText.isIn(plan)) StatementContext.computes(session)
    }
    connections.placed(Streams.placed(plan))
  }
}
