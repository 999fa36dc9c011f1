package io.headgate.guard.memory

/** The heap of this Java, where what is not in use any more counts as used until it is collected. */
object Heap {
  /** Milliseconds in which an ending statement leaves its memory to others. */
  private val Patience = 5000L
  private val Pause = 100L

  /** Collects what is not in use until there is enough room. Returns whether there is, in a few seconds at most. */
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
