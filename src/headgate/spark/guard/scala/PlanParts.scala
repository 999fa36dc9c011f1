package io.headgate.guard

/**
 * The parts of plans that an operation makes between two of its steps, and the columns it gives to nodes. A rule of Spark
 * may make very many, which are all in memory at once.
 */
object PlanParts {
  /** A part takes half a kilobyte, with what Spark keeps in it; so these fill a quarter of the heap. */
  private val Most = Runtime.getRuntime.maxMemory >> 11
  private val made = ThreadLocal.withInitial[Array[Long]](() => Array(0L))

  /** A step of the operation on this thread begins. */
  def begin(): Unit = made.get()(0) = 0

  /** Counts a part. */
  def count(): Unit = count(1)

  /** Counts the columns of a node: one takes a sixteenth of a part. */
  def count(columns: Seq[_]): Unit = count(columns.size >> 4)

  /** Throws `LimitExceeded` if there are too many, or if the operation of this thread was interrupted. */
  private def count(more: Int): Unit = {
    Interruption.checkNode()
    val parts = made.get
    parts(0) += more
    if (parts(0) > Most)
      if (DriverThreads.own.isDefined) PlanLimits.tooComplex(s"grows to more than $Most parts while Spark plans it")
      else begin()
  }
}
