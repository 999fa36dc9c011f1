package io.headgate.guard.memory

import java.util.{Collections, IdentityHashMap, Map => JavaMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.headgate.guard.expressions.Sizes
import io.headgate.guard.policy.PlanTraversal
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types.Metadata
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}

/**
 * The bytes of a plan in the heap: its structure, which is its nodes and expressions with the types, names and texts that they
 * hold, and its constants and rows.
 */
final case class PlanSize(structure: Long, values: Long) {
  def bytes: Long = structure + values
}

object PlanSize {
  private val Node = 512L

  /**
   * Bytes of an object that a node holds, with the structures that lead to it: a field of a type has a name and is in three
   * maps of its type.
   */
  private val Part = 128L

  def of(plan: LogicalPlan): PlanSize = {
    val parts = new Parts
    PlanTraversal(plan).foreach(parts.addNode)
    parts.size
  }

  /** Return the size of a function or a variable, which is no plan, with the expressions that it holds. */
  def of(part: Product): PlanSize = {
    val parts = new Parts
    parts.add(part)
    part.productIterator.foreach { case expression: Expression => expression.foreach(parts.addNode); case _ => }
    parts.size
  }

  /** Counts the objects that nodes hold, each once; nodes inside them are not entered. */
  private final class Parts {
    private val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    private val open = mutable.Stack.empty[Any]
    private var structure, values = 0L

    def size: PlanSize = PlanSize(structure, values)

    def addNode(node: TreeNode[_]): Unit = {
      structure += Node
      node match {
        case alias: Alias => alias.explicitMetadata.foreach(add)
        case _ =>
      }
      add(node.origin)
      node.productIterator.foreach(add)
    }

    def add(part: Any): Unit = {
      open.push(part)
      while (open.nonEmpty) open.pop() match {
        case row: InternalRow => values += LocalRows.size(row)
        case null | _: TreeNode[_] =>
        case part: AnyRef => if (seen.add(part)) count(part)
      }
    }

    private def count(part: AnyRef): Unit = part match {
      case text: String => structure += Part + text.length
      case metadata: Metadata => structure += Part + metadata.json.length
      case _: UTF8String | _: ArrayData | _: MapData | _: VariantVal | _: Array[Byte] => values += Sizes.of(part)
      case Some(inner) => open.push(inner)
      case many: Iterable[_] => enter(many.iterator)
      case many: JavaMap[_, _] => enter(many.asScala.iterator)
      case product: Product => enter(product.productIterator)
      case _ =>
    }

    private def enter(parts: Iterator[Any]): Unit = {
      structure += Part
      open.pushAll(parts)
    }
  }
}
