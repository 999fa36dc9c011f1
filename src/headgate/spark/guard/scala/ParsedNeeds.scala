package io.headgate.guard

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * What a statement needs, told from the names in it before anything is looked up - so that a hidden and a
 * missing name are refused alike.
 */
final class ParsedNeeds(session: SparkSession) {
  private val names = new Names(session)
  private val paths = new Paths(session)

  def of(node: Walk.Node): Seq[Need] = node match {
    case UnresolvedRelation(parts, _, _) => names.table(parts).map(Need.select).toSeq
    case write: V2WriteCommand => written(write.table, overwrites = !write.isInstanceOf[AppendData])
    case insert: InsertIntoStatement => written(insert.table, insert.overwrite)
    case source: UnresolvedDataSource => if (source.isStreaming) Nil else paths.of(source)
    case DescribeRelation(UnresolvedTableOrView(parts, _, _), _, _, _) => names.table(parts).map(Need.describe).toSeq
    case DropTable(UnresolvedIdentifier(parts, _), _, _) => Seq(Need.drop(names.created(parts)))
    case DropView(UnresolvedIdentifier(parts, _), _) => temporary(parts)
    case create: V2CreateTablePlan => created(create)
    case UnresolvedNamespace(parts, _) => Seq(Need.describeNamespace(names.namespace(parts)))
    case call: Call => Procedures.needs(call, names)
    case CurrentNamespace => Seq(Need.describeNamespace(names.namespace(Nil)))
    case _ => Nil
  }

  private def written(target: LogicalPlan, overwrites: Boolean): Seq[Need] = target match {
    case UnresolvedRelation(parts, _, _) => names.table(parts).toSeq.flatMap(Need.write(_, overwrites))
    case _ => Nil
  }

  private def created(plan: V2CreateTablePlan): Seq[Need] = plan match {
    case CreateTable(Name(name), _, _, _, _) => Seq(Need.create(name))
    case CreateTableAsSelect(Name(name), _, _, _, _, _, _) => Seq(Need.create(name))
    case ReplaceTable(Name(name), _, _, _, _) => Seq(Need.create(name), Need.drop(name))
    case ReplaceTableAsSelect(Name(name), _, _, _, _, _, _) => Seq(Need.create(name), Need.drop(name))
    case _ => Nil
  }

  private def temporary(parts: Seq[String]): Seq[Need] = {
    if (!names.isTemporaryView(parts)) Refuse.because("only temporary views of this session can be dropped for now")
    Nil
  }

  private object Name {
    def unapply(plan: LogicalPlan): Option[Seq[String]] = plan match {
      case UnresolvedIdentifier(parts, _) => Some(names.created(parts))
      case _ => None
    }
  }
}
