package io.headgate.guard.expressions

import io.headgate.guard.limits.Interruption
import io.headgate.guard.memory.UncountedMemory
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, SortOrder, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.types.DataType

/**
 * Limits aggregates whose state is an object in the heap, such as the list of `collect_list`. Spark lets the state grow with
 * the rows of a group until the driver ends. Rows, and states that other tasks have made, are counted as they arrive.
 */
object BoundedAggregates extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = plan => plan.transformUp {
    case node => node.transformExpressions {
      case call @ AggregateExpression(state: TypedImperativeAggregate[_], mode, _, _, _) if !state.isInstanceOf[WatchedStates[_]] =>
        call.copy(aggregateFunction = mode match {
          case Partial | Complete => WatchedStates(state.mapChildren(counted).asInstanceOf[TypedImperativeAggregate[_]])
          case PartialMerge | Final => WatchedStates(state)
        })
    }
  }

  private def counted(argument: Expression): Expression = argument match {
    case done: AddedToState => done
    case order: SortOrder => order.mapChildren(counted)
    case constant if constant.foldable => constant
    case other => AddedToState(other)
  }
}

/** Counts a value that an aggregate adds to its state. */
final case class AddedToState(child: Expression) extends UnaryExpression with CodegenFallback with GuardExpression {
  @transient private lazy val growth = new Growth

  override def foldable: Boolean = false
  override protected def withNewChildInternal(changed: Expression): AddedToState = copy(child = changed)

  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    growth.add(Sizes.of(value))
    value
  }
}

/**
 * An aggregate with an interruption check for each row and each state, as either may take long. States that tasks have written
 * are counted before they are read, and states that begin large before they are made.
 */
final case class WatchedStates[T](inner: TypedImperativeAggregate[T], mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[T] {
  @transient private lazy val growth = new Growth

  @transient private lazy val initial = SizeRules.initialState(inner)

  override def createAggregationBuffer(): T = {
    if (initial > 0) growth.add(initial)
    inner.createAggregationBuffer()
  }

  override def update(state: T, row: InternalRow): T = {
    Interruption.check()
    inner.update(state, row)
  }

  override def merge(state: T, other: T): T = {
    Interruption.check()
    inner.merge(state, other)
  }

  override def eval(state: T): Any = inner.eval(state)
  override def serialize(state: T): Array[Byte] = inner.serialize(state)

  override def deserialize(bytes: Array[Byte]): T = {
    growth.add(bytes.length)
    inner.deserialize(bytes)
  }

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override def children: Seq[Expression] = inner.children
  override def nullable: Boolean = inner.nullable
  override def dataType: DataType = inner.dataType
  override def defaultResult: Option[Literal] = inner.defaultResult
  override def prettyName: String = inner.prettyName

  override protected def withNewChildrenInternal(changed: IndexedSeq[Expression]): Expression =
    copy(inner = inner.withNewChildren(changed).asInstanceOf[TypedImperativeAggregate[T]])
}

/** Counts the bytes that one task adds to the states of one aggregate, or to the rows that one operator keeps. */
private[guard] final class Growth {
  private var bytes = 0L

  def add(size: Long): Unit = {
    bytes += size + Growth.Entry
    if (bytes > Growth.Step) {
      UncountedMemory.grow(bytes)
      bytes = 0L
    }
  }
}

private[guard] object Growth {
  /** Least bytes that an entry takes besides its value. */
  val Entry = 32L
  val Step: Long = 1L << 20
}
