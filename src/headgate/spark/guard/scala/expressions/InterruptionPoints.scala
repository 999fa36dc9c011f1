package io.headgate.guard.expressions

import io.headgate.guard.limits.Interruption
import io.headgate.guard.operators.InterruptibleRows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, CollectionGenerator, Expression, Generator, JsonTuple, Literal, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{BoundedRows, ColumnarRule, GenerateExec, RangeExec, SortExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.WindowExecBase

/** A value in a loop that Spark compiles without an interruption check. It has a check after each `every` values. */
final case class InterruptionPoint(child: Expression, every: Int) extends UnaryExpression with HiddenExpression {
  @transient private var beats = 0

  override def foldable: Boolean = false
  override protected def withNewChildInternal(changed: Expression): InterruptionPoint = copy(child = changed)

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
    value.copy(code = code"${InterruptionPoint.code(context, every)}\n${value.code}")
  }
}

private[guard] object InterruptionPoint {
  /** Return code with an interruption check after each `every` values. */
  def code(context: CodegenContext, every: Int): String = {
    val beats = context.addMutableState("int", "beats")
    s"if (++$beats >= $every) { $beats = 0; io.headgate.guard.limits.Interruption.check(); }"
  }
}

/**
 * Adds interruption checks: to joins and generators, one row of which may become millions; to sorts whose comparisons take
 * long; and above operators that return many rows without checks of their own. Adds a limit below broadcasts.
 */
object InterruptionPoints extends ColumnarRule {
  private val Pairs = 1 << 8 // between two checks
  private val Comparisons = 1 << 6

  override def preColumnarTransitions: Rule[SparkPlan] = plan => plan.transformUp { case node => above(within(node)) }

  private def within(node: SparkPlan): SparkPlan = node match {
    case join: BroadcastNestedLoopJoinExec => join.copy(condition = pulsing(join.condition))
    case join: CartesianProductExec => join.copy(condition = pulsing(join.condition))
    case join: SortMergeJoinExec => join.copy(condition = pulsing(join.condition))
    case join: ShuffledHashJoinExec => join.copy(condition = pulsing(join.condition))
    case join: BroadcastHashJoinExec if !join.isNullAwareAntiJoin => join.copy(condition = pulsing(join.condition))
    case broadcast: BroadcastExchangeExec if !broadcast.child.isInstanceOf[BoundedRows] => broadcast.copy(child = BoundedRows(broadcast.child))
    case generate: GenerateExec => generate.generator match {
      case _: CollectionGenerator | _: JsonTuple =>
        generate.copy(generator = generate.generator.mapChildren(pulsing(_, 1)).asInstanceOf[Generator])
      case _ => generate
    }
    case sort: SortExec => sort.copy(sortOrder = sort.sortOrder.map {
      case quick if quick.child.isInstanceOf[Attribute] && LongArgument.isComparedByBytes(quick.dataType) => quick
      case order => order.copy(child = pulsing(order.child, Comparisons))
    })
    case other => other
  }

  private def above(node: SparkPlan): SparkPlan = node match {
    case InterruptibleRows(done: InterruptibleRows) => done
    case _: RangeExec | _: BaseAggregateExec | _: GenerateExec | _: WindowExecBase => InterruptibleRows(node)
    case _: InMemoryTableScanExec | _: TableCacheQueryStageExec => InterruptibleRows(node)
    case columns if columns.supportsColumnar => InterruptibleRows(columns)
    case other => other
  }

  private def pulsing(condition: Option[Expression]): Option[Expression] =
    Some(pulsing(condition.getOrElse(Literal.TrueLiteral), Pairs))

  private def pulsing(value: Expression, every: Int): Expression = value match {
    case done: InterruptionPoint => done
    case other => InterruptionPoint(other, every)
  }
}
