package io.headgate.guard.limits

import scala.jdk.CollectionConverters._

import org.antlr.v4.runtime.CommonTokenStream
import org.apache.spark.sql.catalyst.expressions.BaseGroupingSets
import org.apache.spark.sql.catalyst.parser.{ParameterContext, SqlBaseParser}
import org.apache.spark.sql.catalyst.parser.SqlBaseParser.{GroupingAnalyticsContext, InlineTableContext}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkSqlAstBuilder, SparkSqlParser}

/** Spark's parser with limits: it stops if a statement takes too long to parse or would grow too large. */
final class BoundedSqlParser extends SparkSqlParser {
  override val astBuilder: SparkSqlAstBuilder = new BoundedAstBuilder

  override protected def parse[T](text: String)(build: SqlBaseParser => T): T = super.parse(text)(bounded(build))

  /** Parse once with the limits before Spark looks for the parameters with a parser of its own, which has none. */
  override def parseWithParameters[T](text: String, parameters: ParameterContext)(build: SqlBaseParser => T): T = {
    if (text.exists(sign => sign == ':' || sign == '?')) parse(text)(_.compoundOrSingleStatement())
    super.parseWithParameters(text, parameters)(bounded(build))
  }

  /** Return `build` with bounded tokens. If Spark's fast way of parsing fails, Spark parses again with the same tokens. */
  private def bounded[T](build: SqlBaseParser => T)(parser: SqlBaseParser): T = {
    parser.getTokenStream match {
      case _: BoundedTokens =>
      case tokens: CommonTokenStream => parser.setTokenStream(BoundedTokens.of(tokens))
    }
    try build(parser)
    catch { case _: StackOverflowError => PlanLimits.tooComplex("the statement is nested too deeply; split it, or write a part of it to a table first") }
  }
}

/** Limits syntax that has many more parts in the plan than in the text. */
final class BoundedAstBuilder extends SparkSqlAstBuilder {
  override def visitGroupingAnalytics(written: GroupingAnalyticsContext): BaseGroupingSets = {
    PlanLimits.require(GroupingSize.of(written))
    super.visitGroupingAnalytics(written)
  }

  override def visitInlineTable(written: InlineTableContext): LogicalPlan =
    InlineTable.evaluated(written.expression.asScala.toSeq)(super.visitInlineTable(written))
}
