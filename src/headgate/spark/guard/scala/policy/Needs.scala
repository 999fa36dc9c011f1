package io.headgate.guard.policy

import io.headgate.guard.connections.Connections
import io.headgate.guard.files.{Paths, Writes}
import io.headgate.guard.streams.Streams
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.VariableReference
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.views.CreateIcebergView
import org.apache.spark.sql.connector.catalog.StagedTable
import org.apache.spark.sql.connector.write.RowLevelOperation.Command
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, InsertIntoHadoopFsRelationCommand, LogicalRelation, SaveIntoDataSourceCommand}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * What a statement needs, node by node, as the table of plan classes says. Before Spark has looked anything up
 * the names in it tell - so that a hidden and a missing name are refused alike - and afterwards what they became.
 */
final class Needs(session: SparkSession) {
  import Target._

  private val names = new Names(session)
  private val targets = new Targets(session)
  private val paths = new Paths(session)
  private val connections = new Connections(session)

  def of(node: PlanTraversal.Node): Seq[Need] = node match {
    case plan: LogicalPlan => PlanClasses.entries(plan).flatMap(of(plan, _))
    case variable: VariableReference => SessionVariables.needs(session, variable).toSeq
    case name: UnresolvedAttribute => SessionVariables.needs(session, name.nameParts).toSeq
    case _ => Nil
  }

  private def of(plan: LogicalPlan, entry: PlanClass.Entry): Seq[Need] = entry match {
    case PlanClass.Entry("inner" | "holds", _) => Nil
    case PlanClass.Entry("=stream", _) => Streams.needs(plan, paths)
    case PlanClass.Entry("=kept", _) => RetainedRelations.needs(plan)
    case PlanClass.Entry(verb, Some(field)) =>
      targets.of(PlanClasses.held(plan, field)).toSeq.flatMap { target =>
        if (verb.startsWith("=")) special(plan, target) else Need.of(verb, target)
      }
    case _ => own(plan)
  }

  /** Needs of nodes that are objects themselves, or name them in a way of their own. */
  private def own(plan: LogicalPlan): Seq[Need] = plan match {
    case relation: UnresolvedRelation => targets.of(relation).toSeq.flatMap(Need.of("read", _))
    case relation: DataSourceV2Relation => Need.of("read", Relation(targets.table(relation)))
    case relation: LogicalRelation => files(relation)
    case source: UnresolvedDataSource if Connections.isDatabase(source) => connections.needs(source)
    case source: UnresolvedDataSource => if (Streams.isMadeUp(source)) Nil else paths.of(source.paths ++ source.options.get("path"))
    case save: SaveIntoDataSourceCommand => connections.needs(save)
    case write: InsertIntoHadoopFsRelationCommand => Writes.needs(write)
    case set: SetCatalogCommand => Need.of("describe", Namespace(Names.governed(Seq(set.catalogName))))
    case set: SetNamespaceCommand => Need.of("describe", Namespace(names.inCatalog(set.namespace)))
    case named: UnresolvedTableOrView => bare(named)
    case call: Call => Procedures.needs(call, names)
    case describe: DescribeProcedureCommand => targets.of(describe.child).toSeq.flatMap(described(describe, _))
    case _ => Refuse.node(plan)
  }

  /**
   * Whether there is such a table is the catalog's to say, to whoever may know of it; its columns are more than that.
   * A name that IDENTIFIER gave stands alone for a moment, before the command that acts on it has it.
   */
  private def bare(named: UnresolvedTableOrView): Seq[Need] =
    if (named.commandName == Needs.Columns) targets.of(named).toSeq.flatMap(Need.of("describe", _)) else Nil

  /** Needs of nodes that do more to their target than their class tells. */
  private def special(plan: LogicalPlan, target: Target): Seq[Need] = plan match {
    case insert: InsertIntoStatement => Need.of(if (insert.overwrite) "overwrite" else "insert", target)
    case write: V2WriteCommand if isFill(write) => Nil
    case _: AppendData => Need.of("insert", target)
    case write: RowLevelWrite => rewritten(write).flatMap(Need.of(_, target))
    case _: V2WriteCommand => Need.of("overwrite", target)
    case merge: MergeIntoTable => merged(merge).flatMap(Need.of(_, target))
    case set: SetTableProperties if Properties.changeData(set.properties.keys) => Seq("alter", "overwrite").flatMap(Need.of(_, target))
    case _: SetTableProperties => Need.of("alter", target)
    case rename: RenameTable => renamed(rename, target)
    case view: CreateView => viewed(target, view.replace)
    case view: CreateIcebergView => viewed(target, view.replace)
    case _ => Refuse.node(plan)
  }

  /** A staged table exists only inside the CREATE TABLE AS SELECT that was allowed to make and fill it. */
  private def isFill(write: V2WriteCommand): Boolean = write.table match {
    case relation: DataSourceV2Relation => relation.table.isInstanceOf[StagedTable]
    case _ => false
  }

  private def rewritten(write: RowLevelWrite): Seq[String] = EliminateSubqueryAliases(write.table) match {
    case DataSourceV2Relation(Targets.RowLevel(_, operation), _, _, _, _, _) => operation.command match {
      case Command.UPDATE => Seq("read", "update")
      case Command.DELETE => Seq("read", "delete")
      case Command.MERGE => "read" +: write.query.collectFirst { case rows: MergeRows => merged(rows) }.getOrElse(Refuse.node(write))
    }
    case _ => Refuse.node(write)
  }

  /** What the clauses of a MERGE have become. */
  private def merged(rows: MergeRows): Seq[String] = {
    val instructions =
      rows.matchedInstructions ++ rows.notMatchedInstructions ++ rows.notMatchedBySourceInstructions
    instructions.flatMap {
      case MergeRows.Keep(MergeRows.Copy, _, _) => None
      case MergeRows.Keep(MergeRows.Insert, _, _) => Some("insert")
      case MergeRows.Keep(MergeRows.Update, _, _) | _: MergeRows.Split => Some("update")
      case MergeRows.Keep(MergeRows.Delete, _, _) | _: MergeRows.Discard => Some("delete")
      case other => Refuse.node(other)
    }.distinct
  }

  private def merged(merge: MergeIntoTable): Seq[String] = {
    val actions = merge.matchedActions ++ merge.notMatchedActions ++ merge.notMatchedBySourceActions
    val verbs = actions.map {
      case _: InsertAction | _: InsertStarAction => "insert"
      case _: UpdateAction | _: UpdateStarAction => "update"
      case _: DeleteAction => "delete"
      case other => Refuse.node(other)
    }
    "read" +: (if (merge.withSchemaEvolution) "alter" +: verbs else verbs).distinct
  }

  private def renamed(rename: RenameTable, from: Target): Seq[Need] = from match {
    case Relation(name) =>
      val to = Relation(names.renamed(name, rename.newName, rename.isView))
      Seq("alter", "drop").flatMap(Need.of(_, from)) ++ Need.of(if (rename.isView) "create-view" else "create", to)
    case _ => Refuse.node(rename)
  }

  private def viewed(target: Target, replaces: Boolean): Seq[Need] =
    Need.of("create-view", target) ++ (if (replaces) Need.of("drop", target) else Nil)

  private def described(plan: LogicalPlan, procedure: Target): Seq[Need] = procedure match {
    case Relation(name) => Need.of("describe", Namespace(name.init))
    case _ => Refuse.node(plan)
  }

  private def files(relation: LogicalRelation): Seq[Need] = relation.relation match {
    case files: HadoopFsRelation if relation.catalogTable.isEmpty =>
      // A batch of a stream is a list of files, and one of a long one very many: it needs the folders that they lie in.
      val places = if (relation.isStreaming) files.location.rootPaths.map(_.getParent) else files.location.rootPaths
      places.distinct.map(path => Need.readPath(path.toString))
    case _ =>
      connections.needs(relation).getOrElse(Refuse.because("data that is neither a table of the lake nor files of a connection is refused"))
  }
}

object Needs {
  /** What Spark calls the looking up of a table's columns. */
  private val Columns = "Catalog.listColumns"
}
