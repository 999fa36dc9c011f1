package io.headgate.guard.memory

import io.headgate.guard.expressions.Sizes
import io.headgate.guard.limits.Interruption
import org.apache.spark.sql.catalyst.InternalRow

/** Counts rows that a client has sent: small rows take more bytes in the heap than in the request. */
object LocalRows {
  private val Object = 64L

  /** Bytes that are counted at a time. */
  private val Step = 1L << 20
  private val uncounted = ThreadLocal.withInitial[Array[Long]](() => Array(0L))

  /** Return the bytes of a row in the heap. */
  def size(row: Any): Long = Object + Sizes.of(row)

  /**
   * Count a row. Throw `LimitExceeded` if there is no memory for the rows, or if the operation of this thread was interrupted.
   */
  def count(row: InternalRow): Unit = {
    val bytes = uncounted.get
    bytes(0) += size(row)
    if (bytes(0) > Step) {
      val more = bytes(0)
      bytes(0) = 0
      Interruption.check()
      PlanMemory.add(more)
    }
  }
}
