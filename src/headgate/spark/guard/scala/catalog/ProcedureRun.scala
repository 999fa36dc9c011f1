package io.headgate.guard.catalog

import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.{ObjectNames, PlanTraversal, Refusal, RetainedRelations}
import org.apache.iceberg.{Table => IcebergTable}
import org.apache.iceberg.spark.SparkTableCache
import org.apache.iceberg.spark.source.{SparkRewriteTable, SparkTable}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{LocalTempView, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD}
import org.apache.spark.sql.execution.command.CreateViewCommand
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter.DummyRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

/**
 * An allowed procedure that is running. Iceberg's procedures are Spark programs: they read metadata tables and staged files
 * through relations without a name, with functions of their own. While one runs, its plans are allowed if all data in them
 * belongs to the one table that the procedure was called for.
 */
final class ProcedureRun(private val asker: String, table: Seq[String], location: String) {
  @volatile private var isOver = false

  private def check(plan: LogicalPlan, names: ObjectNames): Unit = PlanTraversal(plan).foreach {
    case relation: DataSourceV2Relation => if (!isOwn(relation)) Refusal.node(relation)
    case source: UnresolvedDataSource => if (!isStaged(source)) Refusal.node(source)
    case UnresolvedRelation(parts, _, _) => if (!names.table(parts).contains(table)) Refusal.because("the call is refused, because the procedure reads another table than the one in its argument `table`; call the procedure for the table that it reads")
    case _: LocalRelation | _: OneRowRelation | _: LogicalRDD | _: ExternalRDD[_] | _: DataSourceV2ScanRelation =>
    case map: MapPartitions => RetainedRelations.left(map, table)
    case view: CreateViewCommand if view.viewType == LocalTempView =>
    case _: V2WriteCommand | _: CommandResult =>
    case other @ (_: Command | _: LeafNode) => Refusal.node(other)
    case _ =>
  }

  private def isOwn(relation: DataSourceV2Relation): Boolean = (relation.catalog, relation.identifier, relation.table) match {
    case (Some(catalog: GuardedCatalog), Some(identifier), _) => ObjectNames.of(catalog, identifier) == table
    case (_, _, read: SparkTable) => isOwn(read.table)
    case (_, _, staged: SparkRewriteTable) => isOwn(staged.table)
    case _ => false
  }

  private def isOwn(found: IcebergTable): Boolean = found.location == location

  /**
   * Whether a source is files of the table that the procedure rewrites. They are read and written under an id that only Iceberg
   * assigns.
   */
  private def isStaged(source: UnresolvedDataSource): Boolean = (source.paths ++ source.options.get("path")).distinct match {
    case Seq(id) => source.format == "iceberg" && SparkTableCache.get.contains(id) && isOwn(SparkTableCache.get.get(id))
    case _ => false
  }
}

object ProcedureRun {
  /**
   * Inherited by a procedure's own threads; a pool that outlives the procedure keeps a run that is over, and so allows nothing.
   */
  private val current = new InheritableThreadLocal[ProcedureRun]

  /** Run the body as a procedure that this session called for the table with this full name and storage location. */
  def of[T](session: SparkSession, table: Seq[String], location: String)(body: => T): T = {
    val run = new ProcedureRun(StatementContext.handle(session), table, location)
    current.set(run)
    try body
    finally {
      run.isOver = true
      current.remove()
    }
  }

  /**
   * Whether a plan belongs to a running procedure and is allowed. Throw `AccessDenied` if it belongs to one and is not allowed.
   * A condition that the caller wrote does not belong to the procedure: the usual rules apply to it.
   */
  def passes(session: SparkSession, plan: LogicalPlan, names: ObjectNames): Boolean =
    Option(current.get).exists { run =>
      val isOwn = !run.isOver && run.asker == StatementContext.handle(session) && !PlanTraversal(plan).exists(_.isInstanceOf[DummyRelation])
      if (isOwn) run.check(plan, names)
      isOwn
    }
}
