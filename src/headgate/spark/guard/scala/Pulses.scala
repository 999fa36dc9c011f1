package io.headgate.guard

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{CollectionGenerator, Expression, Generator, JsonTuple, Literal, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{BoundedRows, ColumnarRule, FilterExec, GenerateExec, RangeExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.types.DataType

/** A value inside a loop that Spark compiles without a way out: each `every` values it asks whether the task is to end. */
final case class Pulse(child: Expression, every: Int) extends UnaryExpression with GuardExpression {
  @transient private var beats = 0

  override def foldable: Boolean = false
  override protected def withNewChildInternal(changed: Expression): Pulse = copy(child = changed)

  override def eval(row: InternalRow): Any = {
    beats += 1
    if (beats >= every) {
      beats = 0
      Interruption.check()
    }
    child.eval(row)
  }

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val value = child.genCode(context)
    val beats = context.addMutableState("int", "beats")
    value.copy(code = code"""
      if (++$beats >= $every) { $beats = 0; io.headgate.guard.Interruption.check(); }
      ${value.code}""")
  }
}

/** Puts a pulse into joins and generators, one row of which may stand for millions, and above ranges; and a bound before broadcasts. */
object Pulses extends ColumnarRule {
  private val Rows = 1 << 8

  override def preColumnarTransitions: Rule[SparkPlan] = plan => plan.transformUp {
    case join: BroadcastNestedLoopJoinExec => join.copy(condition = pulsing(join.condition))
    case join: CartesianProductExec => join.copy(condition = pulsing(join.condition))
    case join: SortMergeJoinExec => join.copy(condition = pulsing(join.condition))
    case join: ShuffledHashJoinExec => join.copy(condition = pulsing(join.condition))
    case join: BroadcastHashJoinExec if !join.isNullAwareAntiJoin => join.copy(condition = pulsing(join.condition))
    case broadcast: BroadcastExchangeExec if !broadcast.child.isInstanceOf[BoundedRows] => broadcast.copy(child = BoundedRows(broadcast.child))
    case generate: GenerateExec => generate.generator match {
      case _: CollectionGenerator | _: JsonTuple =>
        generate.copy(generator = generate.generator.mapChildren(pulsing).asInstanceOf[Generator])
      case _ => generate
    }
    case done @ FilterExec(_: Pulse, _) => done
    case parent if parent.children.exists(_.isInstanceOf[RangeExec]) => parent.mapChildren {
      case range: RangeExec => FilterExec(Pulse(Literal.TrueLiteral, Rows), range) // itself it asks once in a thousand rows
      case other => other
    }
  }

  private def pulsing(condition: Option[Expression]): Option[Expression] = condition.getOrElse(Literal.TrueLiteral) match {
    case done: Pulse => Some(done)
    case other => Some(Pulse(other, Rows))
  }

  private def pulsing(rows: Expression): Expression = rows match {
    case done: Pulse => done
    case other => Pulse(other, 1)
  }
}
