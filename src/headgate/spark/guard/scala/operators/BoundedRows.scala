package org.apache.spark.sql.execution

import io.headgate.guard.expressions.Sizes
import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.operators.PassedRows
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow


/**
 * Limits the rows of a broadcast. Spark allocates memory by their number before it checks their size, and small rows that are
 * alike arrive compressed. The file is in this package because the method that it overrides is private to it.
 */
final case class BoundedRows(child: SparkPlan) extends PassedRows {

  override def executeCollectIterator(): (Long, Iterator[InternalRow]) = {
    val (count, rows) = child.executeCollectIterator()
    if (count > BoundedRows.Most)
      throw new LimitExceeded(s"the statement broadcasts $count rows, and Headgate allows at most ${BoundedRows.Most}; add the hint `MERGE` or an equality condition to the join")
    val most = conf.maxBroadcastTableSizeInBytes
    // Spark builds the whole table before it checks its size, and rows that are alike have arrived compressed.
    (count, Sizes.bounded(rows, most, s"the statement broadcasts more than ${most >> 20} MiB; add the hint `MERGE` or an equality condition to the join"))
  }

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  /** Return the form of the child, by which Spark finds a broadcast that it has already made. */
  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def withNewChildInternal(changed: SparkPlan): BoundedRows = copy(child = changed)
}

object BoundedRows {
  private val BytesOfRow = 64

  /** The number of rows that fill an eighth of the heap, which a broadcast table may take. */
  private val Most = Runtime.getRuntime.maxMemory / 8 / BytesOfRow
}
