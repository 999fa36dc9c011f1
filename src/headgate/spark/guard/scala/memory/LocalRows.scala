package io.headgate.guard.memory

import io.headgate.guard.expressions.Sizes
import io.headgate.guard.limits.Interruption
import org.apache.spark.sql.catalyst.InternalRow

/** Rows that a client has sent: those of few bytes take more in the heap than in the request. */
object LocalRows {
  private val Object = 64L

  /** So many bytes are counted at a time. */
  private val Step = 1L << 20
  private val uncounted = ThreadLocal.withInitial[Array[Long]](() => Array(0L))

  /** The bytes of a row in the heap. */
  def size(row: Any): Long = Object + Sizes.of(row)

  /** Counts a row; throws `LimitExceeded` if there is no memory for so many, or if the operation of this thread was interrupted. */
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
