package io.headgate.guard.expressions

import io.headgate.guard.limits.Interruption
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.LambdaVariable
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.execution.{ColumnarRule, LeafExecNode, SparkPlan}
import org.apache.spark.sql.types.{DataType, ObjectType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * An argument without a fixed size. Before a call works on a long one, which may take tens of milliseconds, there is an
 * interruption check: a batch has thousands of rows, a statement thousands of calls, and a sort compares a row many times.
 */
final case class LongArgument(child: Expression) extends UnaryExpression with HiddenExpression {
  override def nullIntolerant: Boolean = true
  override protected def withNewChildInternal(changed: Expression): LongArgument = LongArgument(changed)

  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    LongArgument.ask(value)
    value
  }

  /** Generate code with a check for each call, even if Spark computes the argument of several calls only once. */
  override def genCode(context: CodegenContext): ExprCode = {
    val value = super.genCode(context)
    value.copy(code = code"${value.code}\nif (!${value.isNull}) io.headgate.guard.expressions.LongArgument.ask(${value.value});")
  }

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = child.genCode(context)
}

/** The length of values, and how they are compared. */
object LongArgument {
  private val Bytes = 4096

  /** Check for an interruption, if the value may be long. Generated code calls this. */
  def ask(value: Any): Unit = value match {
    case text: UTF8String => if (text.numBytes > Bytes) Interruption.check()
    case bytes: Array[Byte] => if (bytes.length > Bytes) Interruption.check()
    case null =>
    case _ => Interruption.check() // measuring an array, a map, a struct or a variant takes as long as the check
  }

  /** Whether a value of the expression may be long. */
  def mayBeLong(argument: Expression): Boolean = argument match {
    case Literal(null, _) | Literal(_, _: ObjectType) | _: LongArgument | _: LambdaFunction | _: LambdaVariable => false
    case Literal(text: UTF8String, _) => text.numBytes > Bytes
    case other => !SizedFunctions.isNarrow(other.dataType)
  }

  /** Whether two values are compared byte for byte, and not by the rules of a language. */
  def isComparedByBytes(kind: DataType): Boolean = kind match {
    case text: StringType => CollationFactory.fetchCollation(text.collationId).isUtf8BinaryType
    case _ => true
  }
}

/**
 * Adds interruption checks for the long arguments of each call. A call that only passes a value on, or reads its beginning,
 * needs none.
 */
object LongArguments extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = plan => plan.transformUp {
    case leaf: LeafExecNode => leaf
    case node => node.mapExpressions(asking)
  }

  private def asking(expression: Expression): Expression = expression match {
    case SizedCall(call) => SizedCall(call.mapChildren(asking)) // it has a check for each value
    case call if isPassThrough(call) => call.mapChildren(asking)
    case call => call.mapChildren { argument => if (LongArgument.mayBeLong(argument)) LongArgument(asking(argument)) else asking(argument) }
  }

  private def isPassThrough(call: Expression): Boolean = call match {
    case _: Max | _: Min | _: MaxBy | _: MinBy | _: HyperLogLogPlusPlus => false
    case _: AggregateExpression | _: AggregateFunction | _: WindowExpression | _: WindowSpecDefinition | _: Generator => true
    case _: GuardExpression | _: NamedExpression | _: SortOrder | _: Partitioning | _: LambdaFunction | _: ConditionalExpression => true
    case _: IsNull | _: IsNotNull | _: GetStructField | _: GetArrayItem | _: Size | _: CreateNamedStruct | _: CreateArray => true
    case comparison: BinaryComparison => comparison.children.exists(isShort)
    case in: In => in.list.forall(isShort)
    case _ => false
  }

  /** Whether a comparison with the expression reads a few bytes only. */
  private def isShort(part: Expression): Boolean =
    part.isInstanceOf[Literal] && !LongArgument.mayBeLong(part) && LongArgument.isComparedByBytes(part.dataType)
}
