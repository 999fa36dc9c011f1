package io.headgate.guard.memory

/** The parts of the heap that one kind of thing may take: what one principal holds, and what all of them hold. */
final class HeapShare(ofOne: Int, ofAll: Int) {
  private val heap = Runtime.getRuntime.maxMemory

  /** MiB for one principal. */
  val mebibytes: Long = heap / ofOne >> 20

  /** The first sentence if this principal holds too much, the second if all together do. `held` are bytes by principals. */
  def fault(principal: String, held: Iterable[(String, Long)])(tooMuch: => String, fullForAll: => String): Option[String] =
    if (held.collect { case (`principal`, bytes) => bytes }.sum > heap / ofOne) Some(tooMuch)
    else if (held.map(_._2).sum > heap / ofAll) Some(fullForAll)
    else None
}
