package io.headgate.guard

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.execution.{ColumnarRule, LeafExecNode, SparkPlan}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/**
 * An argument of no fixed size. Before a call works on a long one, which may take tens of milliseconds, it asks whether its
 * task is to end: a batch has thousands of rows, a statement thousands of calls, and a sort compares a row many times.
 */
final case class LongArgument(child: Expression) extends UnaryExpression with GuardExpression {
  override def foldable: Boolean = child.foldable
  override def nullIntolerant: Boolean = true

  /** For Spark, it is the argument itself; an exchange and the operator that needs it stay the same. */
  override lazy val canonicalized: Expression = child.canonicalized
  override protected def withNewChildInternal(changed: Expression): LongArgument = LongArgument(changed)

  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    value match {
      case null =>
      case text: UTF8String => LongArgument.ask(text)
      case bytes: Array[Byte] => LongArgument.ask(bytes)
      case other => LongArgument.ask(other)
    }
    value
  }

  /** Asks for each call, also where Spark computes the argument of several calls only once. */
  override def genCode(context: CodegenContext): ExprCode = {
    val value = super.genCode(context)
    value.copy(code = code"${value.code}\nif (!${value.isNull}) io.headgate.guard.LongArgument.ask(${value.value});")
  }

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = child.genCode(context)
}

/** Asks whether the task is to end, if a value is long. Generated code calls these functions. */
object LongArgument {
  private val Bytes = 4096

  def ask(text: UTF8String): Unit = if (text.numBytes > Bytes) Interruption.check()
  def ask(bytes: Array[Byte]): Unit = if (bytes.length > Bytes) Interruption.check()

  /** To ask takes less time than to look how large an array, a map, a struct or a variant is. */
  def ask(parts: Any): Unit = Interruption.check()

  /** Whether a value of the expression may be long. */
  def may(argument: Expression): Boolean = argument match {
    case Literal(null, _) | _: GuardExpression | _: LambdaFunction => false
    case Literal(text: UTF8String, _) => text.numBytes > Bytes
    case other => !SizedFunctions.isNarrow(other.dataType)
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
    case _: Max | _: Min | _: MaxBy | _: MinBy => false
    case _: AggregateExpression | _: AggregateFunction | _: WindowExpression | _: WindowSpecDefinition | _: Generator => true
    case _: GuardExpression | _: NamedExpression | _: SortOrder | _: Partitioning | _: LambdaFunction | _: ConditionalExpression => true
    case _: IsNull | _: IsNotNull | _: GetStructField | _: GetArrayItem | _: Size | _: CreateNamedStruct | _: CreateArray => true
    case _: BinaryComparison | _: In => call.children.exists(isShort)
    case _ => false
  }

  /** Whether a comparison with the expression reads a few bytes only. */
  private def isShort(part: Expression): Boolean = part.isInstanceOf[Literal] && !LongArgument.may(part) && (part.dataType match {
    case text: StringType => CollationFactory.fetchCollation(text.collationId).isUtf8BinaryType
    case _ => true
  })
}
