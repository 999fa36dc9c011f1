package io.headgate.guard

import java.util.{Collections, IdentityHashMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeReference, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}

/** How much memory a plan takes that something keeps: its nodes and expressions, their values and rows, and the text that they come from. */
object PlanSize {
  private val Node = 512L

  def of(plan: LogicalPlan): Long = {
    val nodes = Walk(plan)
    val parts = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    nodes.foreach { node =>
      node.origin.sqlText.foreach(parts.add)
      node match {
        case Literal(value: AnyRef, _) => parts.add(value)
        case local: LocalRelation => parts.add(local.data)
        case alias: Alias => parts.add(alias.name)
        case column: AttributeReference => parts.add(column.name)
        case _ =>
      }
    }
    nodes.size * Node + parts.asScala.map(part).sum
  }

  private def part(value: AnyRef): Long = value match {
    case text: String => text.length.toLong
    case rows: Seq[_] => rows.iterator.map(LocalRows.size).sum
    case value => Sizes.of(value)
  }
}
