package io.headgate.guard

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Bounds the memory that the statements of a principal hold in the driver with their plans, for as long as they run: what
 * was sent, the constants that Spark has made of it, and the rows of its recursive queries.
 */
object PlanMemory {
  /** Parts of the heap for one principal, and for all of them. */
  private val PrincipalShare = 8
  private val Share = 4

  /** A constant is in the plan, in the tasks of the statement, and twice where these are made ready to be sent. */
  private val Copies = 4

  /** Smaller statements are not counted: there are few at once. */
  private val Small = 256L << 10

  private final case class Held(principal: String, bytes: Long)

  private val held = mutable.Map.empty[String, Held]

  /** Throws `LimitExceeded` if there is no room for the statement of this thread. */
  def require(): Unit = hold(0)

  /** Throws `LimitExceeded` if there is no room for the constants of the plan that this thread works on. */
  def require(plan: LogicalPlan): Unit = hold(Copies * constants(plan))

  private def hold(more: Long): Unit = Requests.own.foreach { case (operation, request) =>
    if (request.bytes + more > Small) hold(operation, Held(request.principal, request.bytes + more))
  }

  /** Throws `LimitExceeded` if there is no room for so many bytes more of this statement. */
  def add(operation: String, request: Requests.Request, bytes: Long): Unit = synchronized {
    hold(operation, Held(request.principal, held.get(operation).fold(request.bytes)(_.bytes) + bytes))
  }

  private def hold(operation: String, wanted: Held): Unit = synchronized {
    if (!held.get(operation).exists(_.bytes >= wanted.bytes)) {
      val running = DriverThreads.all
      held.filterInPlace((other, _) => other != operation && running.contains(other))
      requireRoom(wanted)
      held(operation) = wanted
    }
  }

  private def requireRoom(wanted: Held): Unit = {
    val heap = Runtime.getRuntime.maxMemory
    if (total(held.values.filter(_.principal == wanted.principal)) + wanted.bytes > heap / PrincipalShare)
      throw new LimitExceeded(
        s"the data and constants of this statement take ${wanted.bytes >> 20} MiB in Spark, and those of all your running statements may take ${heap / PrincipalShare >> 20} MiB; write the data to a table, or wait until other statements have ended")
    if (total(held.values) + wanted.bytes > heap / Share)
      throw new LimitExceeded("this Spark has no memory for the data and constants of more statements; try again when some have ended")
  }

  private def total(all: Iterable[Held]): Long = all.map(_.bytes).sum

  /** The bytes of all constants in the expressions of a plan. */
  def constants(plan: LogicalPlan): Long =
    plan.collect { case node => node.expressions.map(_.collect { case Literal(value, _) => Sizes.of(value) }.sum).sum }.sum
}
