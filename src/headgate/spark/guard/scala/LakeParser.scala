package io.headgate.guard

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParserInterface}
import org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{DataType, StructType}

/** Spark's parser with what Iceberg adds to it, whole: Iceberg's own refuses functions that have parameters. */
final class LakeParser(spark: ParserInterface) extends IcebergSparkSqlExtensionsParser(spark) {
  override def parsePlan(text: String): LogicalPlan = super.parsePlan(SqlText.shallow(text))

  override def parsePlanWithParameters(text: String, parameters: ParameterContext): LogicalPlan =
    super.parsePlanWithParameters(SqlText.shallow(text), parameters)

  override def parseQuery(text: String): LogicalPlan = super.parseQuery(SqlText.shallow(text))

  override def parseTableSchema(text: String): StructType = super.parseTableSchema(SqlText.shallow(text))

  override def parseDataType(text: String): DataType = super.parseDataType(SqlText.shallow(text))

  override def parseExpression(text: String): Expression = super.parseExpression(SqlText.shallow(text))

  override def parseRoutineParam(text: String): StructType = spark.parseRoutineParam(text)
}
