package io.headgate.guard.expressions

import io.headgate.guard.limits.Interruption
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{BinaryType, StructType}

/**
 * Checks the bytes of a sketch, which a client may have made itself: the size that they declare is compared with their length,
 * before the library allocates memory for it. A state that has its sketch in a struct has it in the first field.
 */
final case class CheckedSketch(child: Expression, format: String) extends UnaryExpression with GuardExpression {
  override def nullIntolerant: Boolean = true

  override protected def nullSafeEval(value: Any): Any = {
    checked(value)
    value
  }

  /** Throw `LimitExceeded` for bytes that are no sketch of this format. Generated code calls this. */
  def checked(value: Any): Unit = {
    Interruption.check() // reading a large sketch takes milliseconds
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
  /** Return the argument with its check, if it is of a type that holds a sketch; Spark itself refuses other types. */
  def of(argument: Expression, format: String): Expression = argument.dataType match {
    case BinaryType => CheckedSketch(argument, format)
    case state: StructType if state.headOption.exists(_.dataType == BinaryType) => CheckedSketch(argument, format)
    case _ => argument
  }
}
