package io.headgate.guard.limits

import io.headgate.guard.driver.DriverThreads

/** Limits the characters of names that an operation puts into other names. */
object NameLengths {
  private val Most = 16L << 20
  private val counted = ThreadLocal.withInitial[Counted](() => Counted("", 0))

  private final case class Counted(operation: String, characters: Long)

  /** Count a name. Throw `LimitExceeded` if the names of the operation of this thread have too many characters. */
  def count(name: String): Unit = DriverThreads.own.foreach { operation =>
    val before = if (counted.get.operation == operation) counted.get.characters else 0
    counted.set(Counted(operation, before + name.length))
    if (before + name.length > Most)
      PlanLimits.tooComplex(s"the column names that Spark generates for the statement are longer than $Most characters together; name its expressions with AS")
  }
}
