package io.headgate.guard.catalog

import io.headgate.guard.policy.{NodeRestrictions, PlanTraversal, Refusal, ReviewedClasses}
import org.apache.spark.sql.catalyst.analysis.{PlanWithUnresolvedIdentifier, UnresolvedExecuteImmediate}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession

/**
 * Checks of the text of a view of the lake. Iceberg inserts the parsed text into the plan after `ParsedPlanRule` has run, and
 * analysis can have effects. So the same checks are applied to the text when it is loaded; its names are decided like those of
 * the plan.
 */
final class StoredViewCheck(session: SparkSession) {
  private val limits = new NodeRestrictions(session)

  /** Throw `AccessDenied` unless the text is a query that is known to be harmless. */
  def check(text: String): Unit = {
    val parsed = session.sessionState.sqlParser.parsePlan(text)
    requireQuery(parsed)
    PlanTraversal(parsed).foreach {
      case _: Command | _: ParsedStatement | _: ExecutableDuringAnalysis | _: UnresolvedExecuteImmediate => refuse()
      case node =>
        ReviewedClasses.requireParsed(node)
        limits.check(node)
    }
  }

  /** Refuse IDENTIFIER as the whole statement, which may turn out to be a command. */
  private def requireQuery(plan: LogicalPlan): Unit = plan match {
    case _: PlanWithUnresolvedIdentifier => refuse()
    case UnresolvedWith(child, _, _) => requireQuery(child)
    case _ =>
  }

  private def refuse(): Nothing = Refusal.because("the definition of the view is not a plain query, so reading the view is refused; replace the view with CREATE OR REPLACE VIEW ... AS SELECT")
}
