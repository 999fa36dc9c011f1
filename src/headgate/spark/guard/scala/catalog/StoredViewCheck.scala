package io.headgate.guard.catalog

import io.headgate.guard.policy.{NodeRestrictions, PlanTraversal, Refusal, ReviewedClasses}
import org.apache.spark.sql.catalyst.analysis.{PlanWithUnresolvedIdentifier, UnresolvedExecuteImmediate}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession

/**
 * The text of a view of the lake. Iceberg puts what is parsed from it into the plan after `ParsedPlanRule` has run, and
 * analysis can act, so the same checks read the text where it is loaded; its names are decided as those of the plan are.
 */
final class StoredViewCheck(session: SparkSession) {
  private val limits = new NodeRestrictions(session)

  /** Throws `AccessDenied` unless the text is a query of what is known to be harmless. */
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

  /** What IDENTIFIER stands in may turn out a command, if it is the whole statement. */
  private def requireQuery(plan: LogicalPlan): Unit = plan match {
    case _: PlanWithUnresolvedIdentifier => refuse()
    case UnresolvedWith(child, _, _) => requireQuery(child)
    case _ =>
  }

  private def refuse(): Nothing = Refusal.because("a view is a query and nothing else")
}
