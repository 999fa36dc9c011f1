package io.headgate.guard.limits

import io.headgate.guard.driver.DriverThreads

/** The characters of names that an operation has put into other names. */
object NameLengths {
  private val Most = 16L << 20
  private val counted = ThreadLocal.withInitial[Counted](() => Counted("", 0))

  private final case class Counted(operation: String, characters: Long)

  /** Counts a name. Throws `LimitExceeded` if the operation of this thread has too many. */
  def count(name: String): Unit = DriverThreads.own.foreach { operation =>
    val before = if (counted.get.operation == operation) counted.get.characters else 0
    counted.set(Counted(operation, before + name.length))
    if (before + name.length > Most)
      PlanLimits.tooComplex(s"makes column names of more than ${Most >> 20} million characters; give its expressions names with AS")
  }
}
