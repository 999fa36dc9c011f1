package io.headgate.guard.instrumentation

import scala.collection.immutable.Seq
import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{CommutativeExpression, Expression, MultiCommutativeOp}
import org.apache.xbean.asm9.MethodVisitor

/**
 * Limits the operands that Spark collects to compare expressions in which their order does not matter. In a filter of thousands
 * of conditions, each node would keep a list of all conditions below it. With this change a node of a long chain orders only
 * its own two sides.
 */
final class CommutativeChains extends ClassChange(Set("org.apache.spark.sql.catalyst.expressions.CommutativeExpression")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "gatherCommutative") inner
    else ClassChange.replaceArgument(inner, 2, "instrumentation/CommutativeChains", "operands", s"(${CommutativeChains.Node}${CommutativeChains.Sides})${CommutativeChains.Sides}", 1, 2)
}

object CommutativeChains {
  private val Node = "Lorg/apache/spark/sql/catalyst/expressions/Expression;"
  private val Sides = "Lscala/PartialFunction;"
  private val Most = 64

  private type OperandsOf = PartialFunction[CommutativeExpression, Seq[Expression]]

  /**
   * Return the operands to collect in the chain that begins with `first`: those of each node of a short chain, and those of the
   * first node alone of a long one.
   */
  def operands(first: Expression, sides: OperandsOf): OperandsOf =
    if (isLong(first, sides)) { case node if node eq first => sides(node) } else sides

  private def isLong(first: Expression, sides: OperandsOf): Boolean = {
    val open = mutable.Stack(first)
    var found = 0
    while (open.nonEmpty && found + open.size <= Most) open.pop() match {
      case node: CommutativeExpression if sides.isDefinedAt(node) => open.pushAll(sides(node))
      case several: MultiCommutativeOp => found += several.children.size
      case _ => found += 1
    }
    found + open.size > Most
  }
}
