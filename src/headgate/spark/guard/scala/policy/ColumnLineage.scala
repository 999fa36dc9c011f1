package io.headgate.guard.policy

import scala.collection.mutable

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, ExprId, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.catalog.StagedTable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Column lineage: for each column that a statement writes into a table, the columns of the lake that its values come from, as
 * the plan shows them. It is only reported; no decision depends on it.
 */
final class ColumnLineage(session: SparkSession) {
  import ColumnLineage._
  import Target.Relation

  private val targets = new Targets(session)

  def written(plan: LogicalPlan): Option[Written] = plan match {
    case write: V2WriteCommand => write.table match {
      case relation: DataSourceV2Relation if !relation.table.isInstanceOf[StagedTable] =>
        named(relation).map(come(_, write.query, relation.output.map(_.name.toLowerCase).toSet))
      case _ => None
    }
    case made: V2CreateTableAsSelectPlan => targets.of(made.name).collect { case Relation(name) => come(name, made.query, _ => true) }
    case _ => None
  }

  private def come(table: Seq[String], query: LogicalPlan, isColumn: String => Boolean): Written = {
    val origins = new Origins(query)
    val columns = query.output.filter(each => isColumn(each.name.toLowerCase)).take(MostColumns)
    Written(table, columns.map(each => each.name -> origins.of(each.exprId).filter(_._1 != table).take(MostSources)).toMap)
  }

  private def named(relation: DataSourceV2Relation): Option[Seq[String]] = targets.of(relation).collect { case Relation(name) => name }

  /** Finds the source columns of each attribute of a plan. */
  private final class Origins(plan: LogicalPlan) {
    private val from = mutable.Map.empty[ExprId, Set[ExprId]]
    private val columns = mutable.Map.empty[ExprId, Column]
    private val nodes = PlanTraversal(plan)
    private val shared = nodes.collect { case of: CTERelationDef => of.id -> of }.toMap

    nodes.foreach(note)

    /** Return the columns that an attribute is computed from, directly or through other attributes. */
    def of(id: ExprId): Seq[Column] = {
      val seen = mutable.LinkedHashSet(id)
      val open = mutable.Queue(id)
      while (open.nonEmpty) from.getOrElse(open.dequeue(), Set.empty).foreach(next => if (seen.add(next)) open.enqueue(next))
      seen.toSeq.flatMap(columns.get).distinct
    }

    private def note(node: PlanTraversal.Node): Unit = node match {
      case relation: DataSourceV2Relation =>
        named(relation).foreach(name => relation.output.foreach(each => columns(each.exprId) = (name, each.name)))
      case alias: Alias => add(alias.exprId, used(alias.child))
      case union: Union => union.children.foreach(child => union.output.zip(child.output).foreach { case (out, in) => add(out.exprId, Set(in.exprId)) })
      case expand: Expand => expand.projections.foreach(row => addAll(expand.output.map(_.exprId), row))
      case rows: MergeRows =>
        val all = rows.matchedInstructions ++ rows.notMatchedInstructions ++ rows.notMatchedBySourceInstructions
        all.flatMap(_.outputs).foreach(row => addAll(rows.output.map(_.exprId), row))
      case generate: Generate => generate.generatorOutput.foreach(each => add(each.exprId, used(generate.generator)))
      case reference: CTERelationRef =>
        shared.get(reference.cteId).foreach(of => reference.output.zip(of.output).foreach { case (out, in) => add(out.exprId, Set(in.exprId)) })
      case _ =>
    }

    private def addAll(ids: Seq[ExprId], row: Seq[Expression]): Unit =
      ids.zip(row).foreach { case (id, expression) => add(id, used(expression)) }

    private def add(id: ExprId, ids: Set[ExprId]): Unit = from(id) = from.getOrElse(id, Set.empty) ++ (ids - id)

    private def used(expression: Expression): Set[ExprId] =
      expression.references.map(_.exprId).toSet ++
        expression.collect { case inner: ScalarSubquery => inner.plan.output.map(_.exprId) }.flatten
  }
}

object ColumnLineage {
  /** A column: the full name of its table, and its own name. */
  type Column = (Seq[String], String)

  /**
   * The table that a statement writes into; for each column that it fills, the columns of other tables that the values come
   * from.
   */
  final case class Written(table: Seq[String], columns: Map[String, Seq[Column]])

  private val MostColumns = 500
  private val MostSources = 20
}
