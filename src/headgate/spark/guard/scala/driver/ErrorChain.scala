package io.headgate.guard.driver

import scala.util.Try

import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.memory.PlanSize
import io.headgate.guard.policy.AccessDenied
import org.apache.iceberg.exceptions.ForbiddenException
import org.apache.spark.sql.catalyst.ExtendedAnalysisException
import org.sparkproject.guava.cache.Cache

/** An error with the chain of its causes. */
object ErrorChain {
  private val Longest = 10

  /** Most bytes of an error that Spark keeps, with the request of its statement and the plan that it refers to. */
  private val Small = 64L << 10

  def of(error: Throwable): Iterator[Throwable] = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(Longest)

  /** Return the error of the guard or the catalog if it is among the causes, and otherwise the error itself. */
  def ofGuard(error: Throwable): Throwable = of(error).collectFirst {
    case limit: LimitExceeded => limit
    case refusal: AccessDenied => refusal
    case refusal: ForbiddenException => new AccessDenied(refusal.getMessage)
  }.getOrElse(error)

  /**
   * Keep an error for the client's request for details, if the error is small. A client that gets no details shows the message.
   */
  def keep(errors: Cache[AnyRef, AnyRef], id: AnyRef, error: AnyRef): Unit = {
    val sent = ReceivedRequests.own.fold(0L) { case (_, request) => request.bytes }
    val isSmall = sent <= Small && Try(of(error.asInstanceOf[Throwable]).map(size).sum <= Small).getOrElse(false)
    if (isSmall) errors.put(id, error)
  }

  private def size(error: Throwable): Long = Option(error.getMessage).fold(0L)(_.length.toLong) + (error match {
    case analysis: ExtendedAnalysisException => analysis.plan.fold(0L)(PlanSize.of(_).bytes)
    case _ => 0L
  })
}
