package io.headgate.guard.expressions

import io.headgate.guard.limits.Interruption
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback

/**
 * The body of a lambda function, which one row may run any number of times, with interruption checks. If the function keeps the
 * values that the body returns, their sizes are added up for each row. If the body gets the value that it returned before, each
 * value is measured.
 */
final case class LambdaBody(child: Expression, returned: LambdaBody.Returned) extends UnaryExpression with CodegenFallback with GuardExpression {
  @transient private var runs = 0
  @transient private var kept = 0L

  /**
   * A constant body is one value that an array holds many times; each is written into the row. So it does not count as a
   * constant.
   */
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

  /** Begin to count again: a new row begins. */
  def reset(): Unit = kept = 0L

  private def count(value: Any): Unit = {
    kept += LambdaBody.Word + Sizes.of(value)
    Sizes.require("lambda function", kept)
  }
}

object LambdaBody {
  /** How the function uses a value that the body returns. */
  sealed trait Returned

  /** The values together are the function's result. */
  case object Kept extends Returned

  /** The value is an argument of the next call, and at last the function's result. */
  case object Carried extends Returned

  case object Dropped extends Returned

  private val Mask = 1023
  private val Word = 8
}
