package io.headgate.guard

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types.DataType

/**
 * The body of a lambda function: one row may run it without end. Where the function keeps what the body returns,
 * its size is counted from one row to the next; where the body is given what it returned before, each value is measured.
 */
final case class Checkpoint(child: Expression, returned: Checkpoint.Returned) extends UnaryExpression with CodegenFallback with GuardExpression {
  @transient private var runs = 0
  @transient private var kept = 0L

  /** A constant body is one value that an array holds many times; each is written into the row. */
  override def foldable: Boolean = false
  override protected def withNewChildInternal(changed: Expression): Checkpoint = copy(child = changed)

  override def eval(row: InternalRow): Any = {
    runs += 1
    if ((runs & Checkpoint.Mask) == 0) Interruption.check()
    val value = child.eval(row)
    returned match {
      case Checkpoint.Kept => count(value)
      case Checkpoint.Carried => Sizes.require("lambda function", Sizes.of(value))
      case Checkpoint.Dropped =>
    }
    value
  }

  /** A new row begins. */
  def reset(): Unit = kept = 0L

  private def count(value: Any): Unit = {
    kept += Checkpoint.Word + Sizes.of(value)
    Sizes.require("lambda function", kept)
  }
}

object Checkpoint {
  /** What becomes of a value that the body returns. */
  sealed trait Returned

  /** All of them together are the function's value. */
  case object Kept extends Returned

  /** It is an argument of the next call, and at last the function's value. */
  case object Carried extends Returned

  case object Dropped extends Returned

  private val Mask = 1023
  private val Word = 8
}
