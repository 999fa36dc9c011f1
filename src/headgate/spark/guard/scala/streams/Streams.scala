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
 * Streaming queries. The start of a query is a statement, and so is each of its batches, on the query's own thread. So a revoke
 * stops a query at the next batch at the latest.
 */
object Streams {
  /** The sources that generate their rows, each with its options. */
  private val Generated = Map("rate" -> AllowLists.rateOptions, "rate-micro-batch" -> AllowLists.rateBatchOptions)
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

  /** Refuse a source or a sink that no caller may use, whatever their privileges. */
  def check(node: PlanTraversal.Node): Unit = node match {
    case source: UnresolvedDataSource => if (!isMadeUp(source)) files(source)
    case start: WriteToStreamStatement =>
      sink(start.sink, start.catalogAndIdent)
      ActiveStreams.requireRoom(start.inputQuery)
    case _ =>
  }

  /** Whether the source of a stream reads no data and only counts. */
  def isMadeUp(source: UnresolvedDataSource): Boolean = source.isStreaming && Generated.contains(source.format)

  /** Return the allowed options of the source of a stream. */
  def options(source: UnresolvedDataSource): OptionList = Generated.getOrElse(source.format, AllowLists.streamOptions)

  /** Return the statement with a temporary folder of the driver for its checkpoints, unless it names a folder. */
  def placed(plan: LogicalPlan): LogicalPlan = plan match {
    case start: WriteToStreamStatement if start.userSpecifiedCheckpointLocation.isEmpty => start.copy(useTempCheckpointLocation = true)
    case other => other
  }

  /** Refuse files in a format without a review, and files without a schema, which Spark would open before access is decided. */
  private def files(source: UnresolvedDataSource): Unit =
    if (!AllowLists.fileFormats(source.format.toLowerCase(Locale.ROOT)) || source.userSpecifiedSchema.isEmpty)
      Refusal.because("the source of the streaming query is neither a table of the lake nor files with an allowed format and a schema; read a table, or set the format to `csv`, `json`, `parquet` or `text`, and set the schema")

  private def read(table: Table, catalog: Option[CatalogPlugin], identifier: Option[Identifier]): Seq[RequiredPrivilege] =
    (catalog, identifier, table) match {
      case (Some(catalog), Some(name), _) => RequiredPrivilege.of("read", Target.Relation(ObjectNames.of(catalog, name)))
      case (None, None, _: RateStreamTable | _: RatePerMicroBatchTable) => Nil
      case _ => Refusal.because("the source of the streaming query is not a table of the lake; read one with `readStream.table`")
    }

  private def written(target: Option[(TableCatalog, Identifier)], mode: OutputMode): Seq[RequiredPrivilege] = target.toSeq.flatMap {
    case (catalog, identifier) => written(catalog, identifier, mode)
  }

  private def written(catalog: CatalogPlugin, identifier: Identifier, mode: OutputMode): Seq[RequiredPrivilege] =
    RequiredPrivilege.of(if (mode == OutputMode.Append) "insert" else "overwrite", Target.Relation(ObjectNames.of(catalog, identifier)))

  private def sink(sink: Table, target: Option[(TableCatalog, Identifier)]): Unit = (sink, target) match {
    case (_, Some(_)) | (_: MemorySink, None) =>
    case (table, None) if table.getClass.getName == Targets.Nothing =>
    case _ => Refusal.because("the sink of the streaming query is not allowed; write to a table of the lake with `toTable`, or use the format `memory` (and read the table of the query's name) or `noop`")
  }
}
