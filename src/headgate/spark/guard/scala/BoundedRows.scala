package org.apache.spark.sql.execution

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning

import io.headgate.guard.LimitExceeded

/**
 * Rows for a broadcast: Spark makes room by their number before it looks at their size, and small rows that are alike
 * arrive compressed. It is in this package because Spark keeps the method that it overrides to itself.
 */
final case class BoundedRows(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override def executeCollectIterator(): (Long, Iterator[InternalRow]) = {
    val (count, rows) = child.executeCollectIterator()
    if (count > BoundedRows.Most)
      throw new LimitExceeded(s"the statement broadcasts $count rows, and this Spark takes at most ${BoundedRows.Most}; leave out the hint `BROADCAST`, or add an equality to the join")
    (count, rows)
  }

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  /** Spark finds a broadcast that it has already made by what it reads. */
  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def withNewChildInternal(changed: SparkPlan): BoundedRows = copy(child = changed)
}

object BoundedRows {
  private val BytesOfRow = 64

  /** As many rows as fill an eighth of the heap, which is what a broadcast table may take. */
  private val Most = Runtime.getRuntime.maxMemory / 8 / BytesOfRow
}
