package io.headgate.guard

import org.apache.spark.sql.catalyst.analysis.{PlanWithUnresolvedIdentifier, UnresolvedExecuteImmediate}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession

/**
 * The text of a view of the lake. Iceberg puts what is parsed from it into the plan when the gate is behind it, and
 * analysis can act, so the text passes the gate where it is loaded; its names are decided as those of the plan are.
 */
final class ViewText(session: SparkSession) {
  private val limits = new Limits(session)

  /** Throws `AccessDenied` unless the text is a query of what is known to be harmless. */
  def check(text: String): Unit = {
    val parsed = session.sessionState.sqlParser.parsePlan(text)
    requireQuery(parsed)
    Walk(parsed).foreach {
      case _: Command | _: ParsedStatement | _: ExecutableDuringAnalysis | _: UnresolvedExecuteImmediate => refuse()
      case node =>
        Known.requireParsed(node)
        limits.check(node)
    }
  }

  /** What IDENTIFIER stands in may turn out a command, if it is the whole statement. */
  private def requireQuery(plan: LogicalPlan): Unit = plan match {
    case _: PlanWithUnresolvedIdentifier => refuse()
    case UnresolvedWith(child, _, _) => requireQuery(child)
    case _ =>
  }

  private def refuse(): Nothing = Refuse.because("a view is a query and nothing else")
}
