package io.headgate.guard.catalog

import java.util.{Map => JavaMap, Set => JavaSet}

import scala.jdk.CollectionConverters._

import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.{ObjectNames, RequiredPrivilege, Target}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{ResolvedNamespace, ResolvedTable}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.constraints.Constraint
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.types.StructType

/**
 * A table as a principal sees it that may describe but not read it: its columns and properties. The number of its rows and
 * bytes, and its current snapshot, are data; the table has no scan from which Spark could get them.
 */
final class DescribedTable(val table: Table) extends Table with SupportsMetadataColumns {
  override def name: String = table.name

  override def schema: StructType = table.schema

  override def columns: Array[Column] = table.columns

  override def partitioning: Array[Transform] = table.partitioning

  override def properties: JavaMap[String, String] = table.properties.asScala.filterNot { case (key, _) => DescribedTable.OfData(key) }.asJava

  override def capabilities: JavaSet[TableCapability] = Set.empty[TableCapability].asJava

  override def constraints: Array[Constraint] = table.constraints

  override def metadataColumns: Array[MetadataColumn] = table match {
    case of: SupportsMetadataColumns => of.metadataColumns
    case _ => Array.empty
  }
}

object DescribedTable {
  /** Properties in which Iceberg shows what was written, and when. */
  private val OfData = Set("current-snapshot-id", "current-snapshot-summary", "current-snapshot-timestamp-ms", "snapshot-count")
}

/** A catalog whose tables are shown by what the session's principal may do: describe or read them. */
private final class DescribedCatalog(catalog: CatalogPlugin, shown: (Identifier, Table) => Table) extends DelegatingCatalogExtension {
  setDelegateCatalog(catalog)

  override def loadTable(identifier: Identifier): Table = shown(identifier, super.loadTable(identifier))
}

/** Removes data from the description of a table, for a principal that may not read the table. */
final class DescribeWithoutData(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case show: DescribeRelation => show.copy(relation = without(show.relation))
    case show: DescribeColumn => show.copy(relation = without(show.relation))
    case show: ShowTableProperties => show.copy(table = without(show.table))
    case show: ShowCreateTable => show.copy(child = without(show.child))
    case show: ShowTablesExtended => show.copy(namespace = without(show.namespace))
    case _ => plan
  }

  private def without(shown: LogicalPlan): LogicalPlan = shown match {
    case resolved: ResolvedTable => resolved.copy(table = described(resolved.catalog, resolved.identifier, resolved.table))
    case resolved @ ResolvedNamespace(catalog: TableCatalog, _, _) if !catalog.isInstanceOf[DescribedCatalog] =>
      resolved.copy(catalog = new DescribedCatalog(catalog, described(catalog, _, _)))
    case _ => shown
  }

  private def described(catalog: CatalogPlugin, identifier: Identifier, table: Table): Table = table match {
    case _: DescribedTable => table
    case _ =>
      val read = RequiredPrivilege.of("read", Target.Relation(ObjectNames.of(catalog, identifier)))
      if (StatementContext.allows(session, read.toSet)) table else new DescribedTable(table)
  }
}
