package io.headgate.guard.expressions

import io.headgate.guard.limits.Interruption
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback

/**
 * The body of a lambda function: one row may run it without end. Where the function keeps what the body returns,
 * its size is counted from one row to the next; where the body is given what it returned before, each value is measured.
 */
final case class LambdaBody(child: Expression, returned: LambdaBody.Returned) extends UnaryExpression with CodegenFallback with GuardExpression {
  @transient private var runs = 0
  @transient private var kept = 0L

  /** A constant body is one value that an array holds many times; each is written into the row. */
  override def foldable: Boolean = false
  override protected def withNewChildInternal(changed: Expression): LambdaBody = copy(child = changed)

  override def eval(row: InternalRow): Any = {
    runs += 1
    if ((runs & LambdaBody.Mask) == 0) Interruption.check()
    val value = child.eval(row)
    returned match {
      case LambdaBody.Kept => count(value)
      case LambdaBody.Carried => Sizes.require("lambda function", Sizes.of(value))
      case LambdaBody.Dropped =>
    }
    value
  }

  /** A new row begins. */
  def reset(): Unit = kept = 0L

  private def count(value: Any): Unit = {
    kept += LambdaBody.Word + Sizes.of(value)
    Sizes.require("lambda function", kept)
  }
}

object LambdaBody {
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
