package io.headgate.guard.policy

import io.headgate.guard.catalog.DescribedTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.views.ResolvedV2View
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier, Table}
import org.apache.spark.sql.connector.write.RowLevelOperation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** A governed object that a node names. */
sealed trait Target

object Target {
  /** A table or a view. */
  final case class Relation(name: Seq[String]) extends Target

  /** The lake or a database of it. */
  final case class Namespace(name: Seq[String]) extends Target
}

/** Finds the governed object in the value of a node's field, before and after Spark has resolved it. */
final class Targets(session: SparkSession) {
  import Target._

  private val names = new ObjectNames(session)

  /**
   * Return the governed object; `None` if no privilege is required: for an object that only this session has, and for a name
   * that is not known yet.
   */
  def of(held: Any): Option[Target] = held match {
    case alias: SubqueryAlias => of(alias.child)
    case UnresolvedRelation(parts, _, _) => relation(parts)
    case UnresolvedTable(parts, _, _) => relation(parts)
    case UnresolvedTableOrView(parts, _, _) => relation(parts)
    case UnresolvedView(parts, _, _, _) => relation(parts)
    case UnresolvedIdentifier(parts, allowTemp) => if (allowTemp) relation(parts) else Some(Relation(names.full(parts)))
    case UnresolvedNamespace(parts, _) => Some(Namespace(names.namespace(parts)))
    case CurrentNamespace => Some(Namespace(names.namespace(Nil)))
    case ResolvedTable(catalog, identifier, table, _) => Some(Relation(loaded(catalog, identifier, table)))
    case ResolvedIdentifier(FakeSystemCatalog, _) => None
    case ResolvedIdentifier(catalog, identifier) => Some(Relation(ObjectNames.of(catalog, identifier)))
    case ResolvedV2View(catalog, identifier) => Some(Relation(ObjectNames.of(catalog, identifier)))
    case ResolvedNamespace(catalog, namespace, _) => Some(Namespace(ObjectNames.governed(catalog.name +: namespace)))
    case relation: DataSourceV2Relation if relation.table.getClass.getName == Targets.Nothing => None
    case relation: DataSourceV2Relation => Some(Relation(table(relation)))
    case _: ResolvedTempView | _: PlanWithUnresolvedIdentifier => None
    case parts: Seq[_] => Some(Relation(names.full(parts.map { case part: String => part })))
    case plan: LogicalPlan => Refusal.node(plan)
  }

  /** Return the full name of the table whose data a resolved relation returns. */
  def table(relation: DataSourceV2Relation): Seq[String] = (relation.catalog, relation.identifier) match {
    case (Some(catalog), Some(identifier)) => loaded(catalog, identifier, relation.table)
    case _ => Refusal.because("the statement uses data that is not a table of the lake; name a table as `lake.<database>.<table>`")
  }

  private def relation(parts: Seq[String]): Option[Target] = names.table(parts).map(Relation)

  private def loaded(catalog: CatalogPlugin, identifier: Identifier, table: Table): Seq[String] = table match {
    case Targets.RowLevel(rewritten, _) => loaded(catalog, identifier, rewritten)
    case described: DescribedTable => loaded(catalog, identifier, described.table)
    case _ if table.getClass.getName.startsWith(Targets.Iceberg) => ObjectNames.of(catalog, identifier)
    case _ => Refusal.because("the statement uses a table that is not an Iceberg table; use an Iceberg table of the lake")
  }
}

object Targets {
  private val Iceberg = "org.apache.iceberg.spark.source."

  /** The `noop` sink, which computes rows and keeps none; named by a text, because the class is private to Spark. */
  val Nothing = "org.apache.spark.sql.execution.datasources.noop.NoopTable$"

  /** The table and the operation of a row-level write; recognized by its fields, because the class is private to Spark. */
  object RowLevel {
    def unapply(table: Table): Option[(Table, RowLevelOperation)] = table match {
      case pair: Product => pair.productIterator.toSeq match {
        case Seq(rewritten: Table, operation: RowLevelOperation) => Some((rewritten, operation))
        case _ => None
      }
      case _ => None
    }
  }

  /** Whether a target would require a privilege of its own if no node acted on it. */
  def isRelation(target: LogicalPlan): Boolean = chain(target).last match {
    case _: UnresolvedRelation | _: UnresolvedTableOrView | _: DataSourceV2Relation => true
    case _ => false
  }

  /** Return the aliases around a target, and the target itself. */
  def chain(target: LogicalPlan): Seq[LogicalPlan] = target match {
    case alias: SubqueryAlias => alias +: chain(alias.child)
    case _ => Seq(target)
  }
}
