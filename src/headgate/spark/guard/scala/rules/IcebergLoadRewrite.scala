package io.headgate.guard.rules

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.SparkTableCache
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedDataSource}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Rewrites `read.format("iceberg").load("lake.raw.flights")`, which names a table, to the plan of `read.table` with that name.
 */
object IcebergLoadRewrite extends Rule[LogicalPlan] {
  private val Iceberg = "iceberg"
  private val Name = "[^/:#]+".r

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case UnresolvedDataSource(format, None, options, isStreaming, Seq(name)) if format.equalsIgnoreCase(Iceberg) && isName(name) =>
      UnresolvedRelation(CatalystSqlParser.parseMultipartIdentifier(name), new CaseInsensitiveStringMap(options.asJava), isStreaming)
  }

  /**
   * Whether the text is the name of a table: no path, and no id that Iceberg gives to the files that one of its procedures
   * rewrites.
   */
  private def isName(text: String): Boolean = Name.matches(text) && !SparkTableCache.get.contains(text)
}
