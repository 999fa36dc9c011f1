package io.headgate.guard.memory

import io.headgate.guard.limits.LimitExceeded

/** Whether the heap has room for a large value: each value may be small enough, and many of them together too large. */
object HeapHeadroom {
  private val Large = 256L << 10
  private val SpareShare = 10
  private val Copies = 4
  private val heap = Runtime.getRuntime

  /** Throw `LimitExceeded` if the heap is nearly full of objects in use, and this number of bytes more is wanted. */
  def require(function: String, bytes: Long): Unit =
    if (bytes >= Large && isShort(bytes) && staysShort(bytes))
      throw new LimitExceeded(
        s"Spark has no memory left for a value of ${bytes >> 10} KiB of `$function`; make fewer or smaller values in one row, or run the statement again later")

  private def isShort(bytes: Long): Boolean =
    heap.maxMemory - (heap.totalMemory - heap.freeMemory) < heap.maxMemory / SpareShare + Copies * bytes

  private def staysShort(bytes: Long): Boolean = synchronized(!Heap.makesRoom(!isShort(bytes)))
}
