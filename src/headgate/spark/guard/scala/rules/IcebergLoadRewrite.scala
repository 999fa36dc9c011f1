package io.headgate.guard.rules

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.SparkTableCache
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedDataSource}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `read.format("iceberg").load("lake.raw.flights")` names a table, so it becomes what `read.table` of that name is. */
object IcebergLoadRewrite extends Rule[LogicalPlan] {
  private val Iceberg = "iceberg"
  private val Name = "[^/:#]+".r

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case UnresolvedDataSource(format, None, options, isStreaming, Seq(name)) if format.equalsIgnoreCase(Iceberg) && isName(name) =>
      UnresolvedRelation(CatalystSqlParser.parseMultipartIdentifier(name), new CaseInsensitiveStringMap(options.asJava), isStreaming)
  }

  /** No path, and not what Iceberg calls files that one of its procedures is rewriting. */
  private def isName(text: String): Boolean = Name.matches(text) && !SparkTableCache.get.contains(text)
}
