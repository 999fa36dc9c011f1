package io.headgate.guard.streams

import java.util.Locale

import io.headgate.guard.files.Paths
import io.headgate.guard.policy.{AllowLists, ObjectNames, OptionList, PlanTraversal, Refusal, RequiredPrivilege, Target, Targets}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedDataSource}
import org.apache.spark.sql.catalyst.streaming.{StreamingRelationV2, WriteToStream, WriteToStreamStatement}
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier, Table, TableCatalog}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2Relation
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation
import org.apache.spark.sql.execution.streaming.sources._
import org.apache.spark.sql.streaming.OutputMode

/**
 * Streaming queries. Their start is a statement and each of their batches is one again, on the query's own
 * thread, so a revoke stops them at the next batch at the latest.
 */
object Streams {
  private val Rate = "rate"
  private val Path = "path"

  def needs(node: PlanTraversal.Node, paths: Paths): Seq[RequiredPrivilege] = node match {
    case files: StreamingRelation => paths.of(files.dataSource.paths ++ files.dataSource.options.get(Path))
    case StreamingRelationV2(_, _, table, _, _, catalog, identifier, _) => read(table, catalog, identifier)
    case relation: StreamingDataSourceV2Relation => read(relation.table, relation.catalog, relation.identifier)
    case start: WriteToStreamStatement => start.userSpecifiedCheckpointLocation.map(paths.checkpoint).toSeq ++ written(start.catalogAndIdent, start.outputMode)
    case start: WriteToStream => written(start.catalogAndIdent, start.outputMode)
    case batch: WriteToMicroBatchDataSource =>
      batch.relation.toSeq.flatMap(target => target.catalog.zip(target.identifier)).flatMap { case (catalog, identifier) =>
        written(catalog, identifier, batch.outputMode)
      }
    case _ => Nil
  }

  /** Refuses what nobody may stream from or to, whatever they hold. */
  def check(node: PlanTraversal.Node): Unit = node match {
    case source: UnresolvedDataSource => if (!isMadeUp(source)) files(source)
    case start: WriteToStreamStatement =>
      sink(start.sink, start.catalogAndIdent)
      ActiveStreams.requireRoom(start.inputQuery)
    case _ =>
  }

  /** Whether the source of a stream reads nothing and counts. */
  def isMadeUp(source: UnresolvedDataSource): Boolean = source.isStreaming && source.format == Rate

  /** The options that the source of a stream may have. */
  def options(source: UnresolvedDataSource): OptionList = if (isMadeUp(source)) AllowLists.rateOptions else AllowLists.streamOptions

  /** The statement with a place for its checkpoints that ends with it, in a folder of the driver, unless it has one. */
  def placed(plan: LogicalPlan): LogicalPlan = plan match {
    case start: WriteToStreamStatement if start.userSpecifiedCheckpointLocation.isEmpty => start.copy(useTempCheckpointLocation = true)
    case other => other
  }

  /** Without a schema Spark would open files before anything is decided. */
  private def files(source: UnresolvedDataSource): Unit =
    if (!AllowLists.fileFormats(source.format.toLowerCase(Locale.ROOT)) || source.userSpecifiedSchema.isEmpty)
      Refusal.because("a stream is read from a table of the lake or, by a run, from files of a connection with a schema")

  private def read(table: Table, catalog: Option[CatalogPlugin], identifier: Option[Identifier]): Seq[RequiredPrivilege] =
    (catalog, identifier, table) match {
      case (Some(catalog), Some(name), _) => RequiredPrivilege.of("read", Target.Relation(ObjectNames.of(catalog, name)))
      case (None, None, _: RateStreamTable) => Nil
      case _ => Refusal.because("a stream is read from a table of the lake")
    }

  private def written(target: Option[(TableCatalog, Identifier)], mode: OutputMode): Seq[RequiredPrivilege] = target.toSeq.flatMap {
    case (catalog, identifier) => written(catalog, identifier, mode)
  }

  private def written(catalog: CatalogPlugin, identifier: Identifier, mode: OutputMode): Seq[RequiredPrivilege] =
    RequiredPrivilege.of(if (mode == OutputMode.Append) "insert" else "overwrite", Target.Relation(ObjectNames.of(catalog, identifier)))

  private def sink(sink: Table, target: Option[(TableCatalog, Identifier)]): Unit = (sink, target) match {
    case (_, Some(_)) | (_: MemorySink, None) =>
    case (table, None) if table.getClass.getName == Targets.Nothing =>
    case _ => Refusal.because("a stream is written to a table of the lake, to memory or to nothing")
  }
}
