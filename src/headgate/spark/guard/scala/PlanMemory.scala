package io.headgate.guard

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Bounds the memory that the statements of a principal hold in the driver with their plans, for as long as they run: what
 * was sent, and the constants that Spark has made of it.
 */
object PlanMemory {
  /** Parts of the heap for one principal, and for all of them. */
  private val PrincipalShare = 8
  private val Share = 4

  /** A constant is in the plan, in the tasks of the statement, and twice where these are made ready to be sent. */
  private val Copies = 4

  /** Smaller statements are not counted: there are few at once. */
  private val Small = 256L << 10

  /** Requests are forgotten once there are so many, if they are as many milliseconds old and nothing works on them. */
  private val Kept = 4096
  private val Arrival = 60000L

  private final case class Request(user: String, bytes: Long, at: Long)
  private final case class Held(principal: String, bytes: Long)

  private val requests = new ConcurrentHashMap[String, Request]
  private val held = mutable.Map.empty[String, Held]

  /** A request for an operation has come. */
  def receive(operation: String, user: String, bytes: Long): Unit = {
    val now = System.currentTimeMillis()
    if (requests.size > Kept) {
      val running = DriverThreads.all
      requests.entrySet.removeIf(each => now - each.getValue.at > Arrival && !running.contains(each.getKey))
    }
    requests.put(operation, Request(user, bytes, now))
  }

  /** Throws `LimitExceeded` if there is no room for the statement of this thread. */
  def require(): Unit = hold(0)

  /** Throws `LimitExceeded` if there is no room for the constants of the plan that this thread works on. */
  def require(plan: LogicalPlan): Unit = hold(Copies * constants(plan))

  private def hold(more: Long): Unit = for (operation <- DriverThreads.ownStatement; request <- Option(requests.get(operation)))
    if (request.bytes + more > Small) hold(operation, Held(Operation.principal(request.user), request.bytes + more))

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

  private def constants(plan: LogicalPlan): Long =
    plan.collect { case node => node.expressions.map(_.collect { case Literal(value, _) => Sizes.of(value) }.sum).sum }.sum
}
