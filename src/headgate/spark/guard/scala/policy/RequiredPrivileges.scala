package io.headgate.guard.policy

import io.headgate.guard.client.StatementContext
import io.headgate.guard.connections.Connections
import io.headgate.guard.files.{Paths, Writes}
import io.headgate.guard.streams.Streams
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.{ScalaUDF, VariableReference}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.views.CreateIcebergView
import org.apache.spark.sql.connector.catalog.StagedTable
import org.apache.spark.sql.connector.write.RowLevelOperation.Command
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, InsertIntoHadoopFsRelationCommand, LogicalRelation, SaveIntoDataSourceCommand}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * The privileges that a statement requires, node by node, by the table of plan classes. Before Spark looks up any name, they
 * follow from the names in the statement, so that hidden and missing names are refused alike; afterwards they follow from the
 * resolved objects.
 */
final class RequiredPrivileges(session: SparkSession) {
  import Target._

  private val names = new ObjectNames(session)
  private val targets = new Targets(session)
  private val paths = new Paths(session)
  private val connections = new Connections(session)

  def of(node: PlanTraversal.Node): Seq[RequiredPrivilege] = node match {
    case plan: LogicalPlan => PlanClasses.entries(plan).flatMap(of(plan, _))
    case variable: VariableReference => SessionVariables.needs(session, variable).toSeq
    case call: ScalaUDF => RetainedRelations.ofFunction(call.function, StatementContext.sinceBegin(session))
    case name: UnresolvedAttribute => SessionVariables.needs(session, name.nameParts).toSeq
    case _ => Nil
  }

  private def of(plan: LogicalPlan, entry: PlanClass.Entry): Seq[RequiredPrivilege] = entry match {
    case PlanClass.Entry("inner" | "holds", _) => Nil
    case PlanClass.Entry("=stream", _) => Streams.needs(plan, paths)
    case PlanClass.Entry("=kept", _) => RetainedRelations.needs(plan, StatementContext.sinceBegin(session))
    case PlanClass.Entry(verb, Some(field)) =>
      targets.of(PlanClasses.held(plan, field)).toSeq.flatMap { target =>
        if (verb.startsWith("=")) special(plan, target) else RequiredPrivilege.of(verb, target)
      }
    case _ => own(plan)
  }

  /** Return the privileges of nodes that are objects themselves, or that name their objects in a way of their own. */
  private def own(plan: LogicalPlan): Seq[RequiredPrivilege] = plan match {
    case relation: UnresolvedRelation => targets.of(relation).toSeq.flatMap(RequiredPrivilege.of("read", _))
    case relation: DataSourceV2Relation => RequiredPrivilege.of("read", Relation(targets.table(relation)))
    case relation: LogicalRelation => files(relation)
    case source: UnresolvedDataSource if Connections.isDatabase(source) => connections.needs(source)
    case source: UnresolvedDataSource => if (Streams.isMadeUp(source)) Nil else paths.of(source.paths ++ source.options.get("path"))
    case save: SaveIntoDataSourceCommand => connections.needs(save)
    case write: InsertIntoHadoopFsRelationCommand => Writes.needs(write)
    case set: SetCatalogCommand => RequiredPrivilege.of("describe", Namespace(ObjectNames.governed(Seq(set.catalogName))))
    case set: SetNamespaceCommand => RequiredPrivilege.of("describe", Namespace(names.inCatalog(set.namespace)))
    case named: UnresolvedTableOrView => bare(named)
    case describe: DescribeTableCommand if describe.partitionSpec.isEmpty => sessionView(plan, describe.table)
    case show: ShowColumnsCommand => sessionView(plan, show.tableName)
    case show: ShowTablePropertiesCommand => sessionView(plan, show.table)
    case explain: StreamingExplainCommand => PlanTraversal(explain.queryExecution.logical).flatMap(of)
    case call: Call => Procedures.needs(call, names)
    case describe: DescribeProcedureCommand => targets.of(describe.child).toSeq.flatMap(described(describe, _))
    case _ => Refusal.node(plan)
  }

  /**
   * Return the privileges of a name that no node acts on. Whether the table exists is answered by the catalog, to a caller that
   * may know of it; a list of its columns requires more. A name that IDENTIFIER has computed is alone for a moment, before the
   * command that acts on it receives it.
   */
  private def bare(named: UnresolvedTableOrView): Seq[RequiredPrivilege] =
    if (named.commandName == RequiredPrivileges.Columns) targets.of(named).toSeq.flatMap(RequiredPrivilege.of("describe", _)) else Nil

  /** Return the privileges of a statement about the columns of a temporary view: those of the view, as for a query of it. */
  private def sessionView(plan: LogicalPlan, name: TableIdentifier): Seq[RequiredPrivilege] =
    session.sessionState.catalog.getRawTempView(name.table).filter(_ => name.database.isEmpty && name.catalog.isEmpty)
      .fold[Seq[RequiredPrivilege]](Refusal.node(plan))(view => RetainedRelations.ofView(view.tableMeta))

  /** Return the privileges of nodes whose effect on their target depends on more than their class. */
  private def special(plan: LogicalPlan, target: Target): Seq[RequiredPrivilege] = plan match {
    case insert: InsertIntoStatement => RequiredPrivilege.of(if (insert.overwrite) "overwrite" else "insert", target)
    case write: V2WriteCommand if isFill(write) => Nil
    case _: AppendData => RequiredPrivilege.of("insert", target)
    case write: RowLevelWrite => rewritten(write).flatMap(RequiredPrivilege.of(_, target))
    case _: V2WriteCommand => RequiredPrivilege.of("overwrite", target)
    case merge: MergeIntoTable => merged(merge).flatMap(RequiredPrivilege.of(_, target))
    case set: SetTableProperties if Properties.changeData(set.properties.keys) => Seq("alter", "overwrite").flatMap(RequiredPrivilege.of(_, target))
    case _: SetTableProperties => RequiredPrivilege.of("alter", target)
    case rename: RenameTable => renamed(rename, target)
    case view: CreateView => viewed(target, view.replace)
    case view: CreateIcebergView if AlteredViews.isAlter(view) => RequiredPrivilege.of("alter", target)
    case view: CreateIcebergView => viewed(target, view.replace)
    case _ => Refusal.node(plan)
  }

  /**
   * Whether the write fills a staged table, which exists only inside the CREATE TABLE AS SELECT that was allowed to create and
   * fill it.
   */
  private def isFill(write: V2WriteCommand): Boolean = write.table match {
    case relation: DataSourceV2Relation => relation.table.isInstanceOf[StagedTable]
    case _ => false
  }

  private def rewritten(write: RowLevelWrite): Seq[String] = EliminateSubqueryAliases(write.table) match {
    case DataSourceV2Relation(Targets.RowLevel(_, operation), _, _, _, _, _) => operation.command match {
      case Command.UPDATE => Seq("read", "update")
      case Command.DELETE => Seq("read", "delete")
      case Command.MERGE => "read" +: write.query.collectFirst { case rows: MergeRows => merged(rows) }.getOrElse(Refusal.node(write))
    }
    case _ => Refusal.node(write)
  }

  /** Return the verbs of the clauses of a resolved MERGE. */
  private def merged(rows: MergeRows): Seq[String] = {
    val instructions =
      rows.matchedInstructions ++ rows.notMatchedInstructions ++ rows.notMatchedBySourceInstructions
    instructions.flatMap {
      case MergeRows.Keep(MergeRows.Copy, _, _) => None
      case MergeRows.Keep(MergeRows.Insert, _, _) => Some("insert")
      case MergeRows.Keep(MergeRows.Update, _, _) | _: MergeRows.Split => Some("update")
      case MergeRows.Keep(MergeRows.Delete, _, _) | _: MergeRows.Discard => Some("delete")
      case other => Refusal.node(other)
    }.distinct
  }

  private def merged(merge: MergeIntoTable): Seq[String] = {
    val actions = merge.matchedActions ++ merge.notMatchedActions ++ merge.notMatchedBySourceActions
    val verbs = actions.map {
      case _: InsertAction | _: InsertStarAction => "insert"
      case _: UpdateAction | _: UpdateStarAction => "update"
      case _: DeleteAction => "delete"
      case other => Refusal.node(other)
    }
    "read" +: (if (merge.withSchemaEvolution) "alter" +: verbs else verbs).distinct
  }

  private def renamed(rename: RenameTable, from: Target): Seq[RequiredPrivilege] = from match {
    case Relation(name) =>
      Seq(RequiredPrivilege.rename(name, names.renamed(name, rename.newName, rename.isView), rename.isView))
    case _ => Refusal.node(rename)
  }

  private def viewed(target: Target, replaces: Boolean): Seq[RequiredPrivilege] =
    RequiredPrivilege.of(if (replaces) "replace-view" else "create-view", target)

  private def described(plan: LogicalPlan, procedure: Target): Seq[RequiredPrivilege] = procedure match {
    case Relation(name) => RequiredPrivilege.of("describe", Namespace(name.init))
    case _ => Refusal.node(plan)
  }

  private def files(relation: LogicalRelation): Seq[RequiredPrivilege] = relation.relation match {
    case files: HadoopFsRelation if relation.catalogTable.isEmpty =>
      // A batch of a stream is a list of files, which can be very long, so it requires the folders of the files.
      val places = if (relation.isStreaming) files.location.rootPaths.map(_.getParent) else files.location.rootPaths
      places.distinct.map(path => RequiredPrivilege.readPath(path.toString))
    case _ =>
      connections.needs(relation).getOrElse(Refusal.because("the statement reads from a source that Headgate does not allow; read a table as `lake.<database>.<table>`, or, in a run of a pipeline, files or an external database through a connection that the pipeline declares"))
  }
}

object RequiredPrivileges {
  /** Spark's name for the call that lists the columns of a table. */
  private val Columns = "Catalog.listColumns"
}
