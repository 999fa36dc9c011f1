package io.headgate.guard

import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier, StagedTable, Table}
import org.apache.spark.sql.execution.command.SetCatalogCommand
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource

/** What a statement needs, told from the objects that Spark has resolved its names to. */
object AnalyzedNeeds {
  private val Iceberg = "org.apache.iceberg.spark.source."

  def of(node: Walk.Node): Seq[Need] = node match {
    case relation: DataSourceV2Relation => Seq(Need.select(table(relation)))
    case relation: LogicalRelation => files(relation)
    case write: V2WriteCommand => written(write)
    case DescribeRelation(ResolvedTable(catalog, identifier, table, _), _, _, _) =>
      Seq(Need.describe(loaded(catalog, identifier, table)))
    case DropTable(ResolvedIdentifier(catalog, identifier), _, _) => Seq(Need.drop(name(catalog, identifier)))
    case create: V2CreateTablePlan => created(create)
    case ResolvedNamespace(catalog, namespace, _) => Seq(Need.describeNamespace(Names.governed(catalog.name +: namespace)))
    case set: SetCatalogCommand => Seq(Need.describeNamespace(Names.governed(Seq(set.catalogName))))
    case other => Streams.needs(other)
  }

  /** The part of a node that is written and not read. */
  def targets(plan: LogicalPlan): Seq[AnyRef] = plan match {
    case batch: WriteToMicroBatchDataSource => Seq(batch.relation)
    case write: V2WriteCommand => Seq(write.table)
    case insert: InsertIntoStatement => Seq(insert.table)
    case _ => Nil
  }

  /** The full name of the table whose data an identifier stands for. */
  def name(catalog: CatalogPlugin, identifier: Identifier): Seq[String] =
    Names.dataTable(catalog.name +: identifier.namespace.toSeq :+ identifier.name)

  private def table(relation: DataSourceV2Relation): Seq[String] = (relation.catalog, relation.identifier) match {
    case (Some(catalog), Some(identifier)) => loaded(catalog, identifier, relation.table)
    case _ => Refuse.because("data that is not a table of the lake is refused")
  }

  private def loaded(catalog: CatalogPlugin, identifier: Identifier, table: Table): Seq[String] = {
    if (!table.getClass.getName.startsWith(Iceberg)) Refuse.because("only Iceberg tables of the lake are governed")
    name(catalog, identifier)
  }

  private def written(write: V2WriteCommand): Seq[Need] = write.table match {
    case relation: DataSourceV2Relation if isFill(relation) =>
      table(relation)
      Nil
    case relation: DataSourceV2Relation =>
      val target = table(relation)
      write match {
        case _: AppendData => Need.write(target, overwrites = false)
        case _: OverwriteByExpression | _: OverwritePartitionsDynamic => Need.write(target, overwrites = true)
        case _ => Refuse.node(write)
      }
    case unresolved: LogicalPlan if !unresolved.resolved => Nil
    case other: LogicalPlan => Refuse.node(other)
  }

  /** A staged table exists only inside the CREATE TABLE AS SELECT that was allowed to make and fill it. */
  private def isFill(relation: DataSourceV2Relation): Boolean = relation.table.isInstanceOf[StagedTable]

  private def created(plan: V2CreateTablePlan): Seq[Need] = plan match {
    case CreateTable(Name(name), _, _, _, _) => Seq(Need.create(name))
    case CreateTableAsSelect(Name(name), _, _, _, _, _, _) => Seq(Need.create(name))
    case ReplaceTable(Name(name), _, _, _, _) => Seq(Need.create(name), Need.drop(name))
    case ReplaceTableAsSelect(Name(name), _, _, _, _, _, _) => Seq(Need.create(name), Need.drop(name))
    case _ => Nil
  }

  private def files(relation: LogicalRelation): Seq[Need] = relation.relation match {
    case files: HadoopFsRelation if relation.catalogTable.isEmpty => files.location.rootPaths.map(path => PathNeed(path.toString))
    case _ => Refuse.because("data that is neither a table of the lake nor files of a connection is refused")
  }

  private object Name {
    def unapply(plan: LogicalPlan): Option[Seq[String]] = plan match {
      case ResolvedIdentifier(catalog, identifier) => Some(name(catalog, identifier))
      case _ => None
    }
  }
}
