package io.headgate.guard

/** Whether the heap has room for a large value: each value may be small enough, and many of them together too large. */
object Room {
  private val Large = 256L << 10
  private val SpareShare = 10
  private val Copies = 4

  /** Milliseconds in which an ending statement leaves its memory to others. */
  private val Patience = 3000L
  private val Pause = 100L
  private val heap = Runtime.getRuntime

  /** Throws `LimitExceeded` if the heap is nearly full of what is in use, and so many bytes more are wanted. */
  def require(function: String, bytes: Long): Unit =
    if (bytes >= Large && isShort(bytes) && staysShort(bytes))
      throw new LimitExceeded(
        s"this Spark has no memory left for a value of ${bytes >> 10} KiB of `$function`; make fewer or smaller values in one row, or try again later")

  private def isShort(bytes: Long): Boolean =
    heap.maxMemory - (heap.totalMemory - heap.freeMemory) < heap.maxMemory / SpareShare + Copies * bytes

  /** What is not in use any more counts as used until it is collected, and ending statements take a while to leave theirs. */
  private def staysShort(bytes: Long): Boolean = synchronized {
    val deadline = System.currentTimeMillis() + Patience
    if (isShort(bytes)) System.gc()
    while (isShort(bytes) && System.currentTimeMillis() < deadline) {
      Thread.sleep(Pause)
      System.gc()
    }
    isShort(bytes)
  }
}
