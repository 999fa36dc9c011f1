package io.headgate.guard

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.execution.{ColumnarRule, LeafExecNode, SparkPlan}
import org.apache.spark.sql.types.{ArrayType, BinaryType, MapType, StringType, VariantType}
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}

/**
 * An argument of no fixed size. Before a call works on a long one, which may take tens of milliseconds, it asks whether its
 * task is to end: a batch has thousands of rows, a statement thousands of calls, and a sort compares a row many times.
 */
final case class LongArgument(child: Expression) extends UnaryExpression with GuardExpression {
  /** For Spark, it is the argument itself; an exchange and the operator that needs it stay the same. */
  override lazy val canonicalized: Expression = child.canonicalized
  override protected def withNewChildInternal(changed: Expression): LongArgument = LongArgument(changed)

  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    value match {
      case text: UTF8String => LongArgument.ask(text)
      case bytes: Array[Byte] => LongArgument.ask(bytes)
      case array: ArrayData => LongArgument.ask(array)
      case map: MapData => LongArgument.ask(map)
      case variant: VariantVal => LongArgument.ask(variant)
      case _ =>
    }
    value
  }

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val value = child.genCode(context)
    value.copy(code = code"${value.code}\nif (!${value.isNull}) io.headgate.guard.LongArgument.ask(${value.value});")
  }
}

/** Asks whether the task is to end, if a value is long. Generated code calls these functions. */
object LongArgument {
  private val Bytes = 4096
  private val Elements = 256

  def ask(text: UTF8String): Unit = if (text.numBytes > Bytes) Interruption.check()
  def ask(bytes: Array[Byte]): Unit = if (bytes.length > Bytes) Interruption.check()
  def ask(array: ArrayData): Unit = if (array.numElements() > Elements) Interruption.check()
  def ask(map: MapData): Unit = if (map.numElements() > Elements) Interruption.check()
  def ask(variant: VariantVal): Unit = if (variant.getValue.length > Bytes) Interruption.check()

  /** Whether a value of the expression may be long. */
  def may(argument: Expression): Boolean = argument match {
    case Literal(text: UTF8String, _) => text.numBytes > Bytes
    case _: GuardExpression | _: LambdaFunction => false
    case other => other.dataType match {
      case _: StringType | BinaryType | _: ArrayType | _: MapType | VariantType => true
      case _ => false
    }
  }
}

/** Lets each call ask for its long arguments. Where Spark hands a value on or looks at its beginning, there is nothing to ask. */
object LongArguments extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = plan => plan.transformUp {
    case leaf: LeafExecNode => leaf
    case node => node.mapExpressions(asking)
  }

  private def asking(expression: Expression): Expression = expression match {
    case Sized(call) => Sized(call.mapChildren(asking)) // it asks for each value
    case call if handsOn(call) => call.mapChildren(asking)
    case call => call.mapChildren { argument => if (LongArgument.may(argument)) LongArgument(asking(argument)) else asking(argument) }
  }

  private def handsOn(call: Expression): Boolean = call match {
    case _: GuardExpression | _: NamedExpression | _: SortOrder | _: Partitioning | _: LambdaFunction | _: ConditionalExpression => true
    case _: IsNull | _: IsNotNull | _: ExtractValue | _: Size | _: CreateNamedStruct | _: CreateArray | _: CreateMap => true
    case _: AggregateExpression | _: AggregateFunction | _: WindowExpression | _: WindowSpecDefinition | _: Generator => true
    case _: BinaryComparison | _: In => call.children.exists(part => part.isInstanceOf[Literal] && !LongArgument.may(part))
    case _ => false
  }
}
