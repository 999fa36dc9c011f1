package io.headgate.guard

import org.apache.iceberg.exceptions.ForbiddenException

/** Errors, each with the cause of the one before. */
object Causes {
  private val Longest = 10

  def of(error: Throwable): Iterator[Throwable] = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(Longest)

  /** The error that a client is told: that of the guard or the catalog, if it is among the causes. */
  def told(error: Throwable): Throwable = of(error).collectFirst {
    case limit: LimitExceeded => limit
    case refusal: AccessDenied => refusal
    case refusal: ForbiddenException => new AccessDenied(refusal.getMessage)
  }.getOrElse(error)
}
