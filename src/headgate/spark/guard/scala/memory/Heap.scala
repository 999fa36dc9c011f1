package io.headgate.guard.memory

/** The heap of this JVM. Memory that is no longer in use counts as used until it is collected. */
object Heap {
  /** Milliseconds in which an ending statement releases its memory. */
  private val Patience = 5000L
  private val Pause = 100L

  /** Collect the heap until there is enough room, for a few seconds at most. Return whether there is enough. */
  def makesRoom(isEnough: => Boolean): Boolean = {
    val deadline = System.currentTimeMillis() + Patience
    if (!isEnough) System.gc()
    while (!isEnough && System.currentTimeMillis() < deadline) {
      Thread.sleep(Pause)
      System.gc()
    }
    isEnough
  }
}
