package io.headgate.guard

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedExecuteImmediate
import org.apache.spark.sql.catalyst.plans.logical.{Command, ExecutableDuringAnalysis, ParsedStatement}

/**
 * The text of a view of the lake. Iceberg puts what is parsed from it into the plan when the gate is behind it, and
 * analysis can act, so the text passes the gate where it is loaded; its names are decided as those of the plan are.
 */
final class ViewText(session: SparkSession) {
  private val limits = new Limits(session)

  /** Throws `AccessDenied` unless the text is a query of what is known to be harmless. */
  def check(text: String): Unit = Walk(session.sessionState.sqlParser.parsePlan(text)).foreach {
    case _: Command | _: ParsedStatement | _: ExecutableDuringAnalysis | _: UnresolvedExecuteImmediate =>
      Refuse.because("a view is a query and nothing else")
    case node =>
      Known.requireParsed(node)
      limits.check(node)
  }
}
