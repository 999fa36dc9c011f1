package io.headgate.guard.limits

import io.headgate.guard.driver.DriverThreads

/**
 * Counts the parts of plans that an operation creates, and the columns that it gives to nodes. A rule of Spark may create very
 * many of them, which are in memory at once, before the next step of the operation.
 */
object PlanParts {
  /**
   * Parts between two checks of the heap. A part takes half a kilobyte, with the objects that Spark keeps in it, so these may
   * fill an eighth of the heap.
   */
  private val BetweenLooks = Runtime.getRuntime.maxMemory >> 12
  private val made = ThreadLocal.withInitial[Array[Long]](() => Array(0L))

  /** Begin to count again: a step of the operation on this thread begins. */
  def begin(): Unit = made.get()(0) = 0

  /** Count a part. */
  def count(): Unit = count(1)

  /** Count the columns of a node: one takes a quarter of a part, with the sets of them. */
  def count(columns: Seq[_]): Unit = count(columns.size >> 2)

  /** Throw `LimitExceeded` if there are many and the heap is half full, or if the operation of this thread was interrupted. */
  private def count(more: Int): Unit = {
    Interruption.checkNode()
    val parts = made.get
    parts(0) += more
    if (parts(0) > BetweenLooks) {
      begin()
      if (DriverThreads.own.isDefined && isHalfFull) throw new LimitExceeded(
        "planning the statement takes more memory than Spark has; use fewer columns or expressions at once, or write a part of it to a table first",
        LimitExceeded.TooComplex)
    }
  }

  /** Whether the heap is half full after a garbage collection: most parts of an ordinary statement are garbage soon. */
  private def isHalfFull: Boolean = isOverHalf && {
    System.gc()
    isOverHalf
  }

  private def isOverHalf: Boolean = {
    val heap = Runtime.getRuntime
    heap.totalMemory - heap.freeMemory > heap.maxMemory / 2
  }
}
