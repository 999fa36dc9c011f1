package io.headgate.guard.expressions

import io.headgate.guard.limits.Interruption
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{BinaryType, StructType}

/**
 * The bytes of a sketch, which a client may have made itself: what they say of their own size is held against their
 * length before the library makes room for it. A state that has its sketch in a struct has it in the first field.
 */
final case class CheckedSketch(child: Expression, format: String) extends UnaryExpression with GuardExpression {
  override def nullIntolerant: Boolean = true

  override protected def nullSafeEval(value: Any): Any = {
    checked(value)
    value
  }

  /** Throws `LimitExceeded` for bytes that are no sketch of this format. Generated code calls this. */
  def checked(value: Any): Unit = {
    Interruption.check() // to read a large sketch takes milliseconds
    value match {
      case bytes: Array[Byte] => Sketches.check(format, bytes)
      case state: InternalRow if !state.isNullAt(0) => Sketches.check(format, state.getBinary(0))
      case _ =>
    }
  }

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val own = context.addReferenceObj("sketch", this)
    nullSafeCodeGen(context, made, value => s"$own.checked($value); ${made.value} = $value;")
  }

  override protected def withNewChildInternal(changed: Expression): CheckedSketch = copy(child = changed)
}

object CheckedSketch {
  /** The argument with its check, if it is of a type that holds a sketch; Spark itself refuses others. */
  def of(argument: Expression, format: String): Expression = argument.dataType match {
    case BinaryType => CheckedSketch(argument, format)
    case state: StructType if state.headOption.exists(_.dataType == BinaryType) => CheckedSketch(argument, format)
    case _ => argument
  }
}
