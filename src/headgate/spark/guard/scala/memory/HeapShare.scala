package io.headgate.guard.memory

/** The shares of the heap for one kind of object: for one principal, and for all principals together. */
final class HeapShare(ofOne: Int, ofAll: Int) {
  private val heap = Runtime.getRuntime.maxMemory

  /** MiB for one principal. */
  val mebibytes: Long = heap / ofOne >> 20

  /**
   * Return `tooMuch` if this principal holds too much, `fullForAll` if all principals together do, and None otherwise. `held`
   * is the bytes of principals.
   */
  def fault(principal: String, held: Iterable[(String, Long)])(tooMuch: => String, fullForAll: => String): Option[String] =
    if (held.collect { case (`principal`, bytes) => bytes }.sum > heap / ofOne) Some(tooMuch)
    else if (held.map(_._2).sum > heap / ofAll) Some(fullForAll)
    else None
}
