package org.apache.spark.sql.execution

import io.headgate.guard.expressions.Sizes
import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.operators.PassedRows
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow


/**
 * Rows for a broadcast: Spark makes room by their number before it looks at their size, and small rows that are alike
 * arrive compressed. It is in this package because Spark keeps the method that it overrides to itself.
 */
final case class BoundedRows(child: SparkPlan) extends PassedRows {

  override def executeCollectIterator(): (Long, Iterator[InternalRow]) = {
    val (count, rows) = child.executeCollectIterator()
    if (count > BoundedRows.Most)
      throw new LimitExceeded(s"the statement broadcasts $count rows, and this Spark takes at most ${BoundedRows.Most}; give the join the hint `MERGE`, or an equality")
    val most = conf.maxBroadcastTableSizeInBytes
    // Spark builds the whole table before it looks at its size, and rows that are alike have arrived compressed.
    (count, Sizes.bounded(rows, most, s"the statement broadcasts more than ${most >> 20} MiB; give the join the hint `MERGE`, or an equality"))
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
