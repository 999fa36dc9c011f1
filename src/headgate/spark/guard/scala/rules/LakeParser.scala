package io.headgate.guard.rules

import io.headgate.guard.limits.{PlanLimits, SqlText}
import io.headgate.guard.policy.AlteredViews
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.RewriteViewCommands
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParserInterface}
import org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * Spark's parser with Iceberg's statements and the guard's limits. Iceberg's own parser refuses functions with parameters; this
 * one accepts them.
 */
final class LakeParser(spark: ParserInterface) extends IcebergSparkSqlExtensionsParser(spark) {
  override def parsePlan(text: String): LogicalPlan = {
    val tokens = SqlText.check(text)
    if (SqlText.isForIceberg(tokens, text)) AlteredViews.replaced(super.parsePlan(text)) else withViews(small(spark.parsePlan(text)))
  }

  override def parsePlanWithParameters(text: String, parameters: ParameterContext): LogicalPlan = {
    val tokens = SqlText.check(text)
    SqlText.check(tokens, text.length, parameters)
    if (SqlText.isForIceberg(tokens, text)) AlteredViews.replaced(super.parsePlanWithParameters(text, parameters))
    else withViews(small(spark.parsePlanWithParameters(text, parameters)))
  }

  override def parseQuery(text: String): LogicalPlan = small(super.parseQuery(checked(text)))

  override def parseTableSchema(text: String): StructType = super.parseTableSchema(checked(text))

  override def parseDataType(text: String): DataType = super.parseDataType(checked(text))

  override def parseExpression(text: String): Expression = small(super.parseExpression(checked(text)))

  override def parseTableIdentifier(text: String): TableIdentifier = super.parseTableIdentifier(checked(text))

  override def parseFunctionIdentifier(text: String): FunctionIdentifier = super.parseFunctionIdentifier(checked(text))

  override def parseMultipartIdentifier(text: String): Seq[String] = super.parseMultipartIdentifier(checked(text))

  override def parseRoutineParam(text: String): StructType = spark.parseRoutineParam(checked(text))

  /** Rewrite view commands, as Iceberg's parser does for every statement that is not its own. */
  private def withViews(plan: LogicalPlan): LogicalPlan = RewriteViewCommands(SparkSession.active)(plan)

  private def small[T <: TreeNode[_]](parsed: T): T = {
    PlanLimits.requireParsed(parsed)
    parsed
  }

  private def checked(text: String): String = {
    SqlText.check(text)
    text
  }
}
