package io.headgate.guard.memory

import scala.collection.mutable

import io.headgate.guard.driver.{DriverThreads, ReceivedRequests}
import io.headgate.guard.expressions.Sizes
import io.headgate.guard.limits.LimitExceeded
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Limits the memory that the running statements of a principal hold in the driver with their plans: the request, its plan, the
 * nodes, expressions and constants that Spark makes of it, and the rows of its recursive queries.
 */
object PlanMemory {
  private val share = new HeapShare(8, 4)

  /** Bytes of a node or an expression, which is in the plan as it was sent, optimized and planned, in its tasks, and in a class that is compiled. */
  private val Node = 2L << 10

  /** Nodes and expressions that every statement may have, whatever others hold. */
  private val Few = 1000

  /** A constant is in the plan, in the tasks of the statement, and twice where tasks are made ready to be sent. */
  private val Copies = 4

  /** Bytes of a statement for which there is always room: there are few statements at once. */
  private val Small = 256L << 10

  /** Above this number of statements, those that have ended are removed. */
  private val Kept = 4096

  private final case class Held(principal: String, sent: Long, structure: Long = 0, plan: Long = 0, rows: Long = 0) {
    def bytes: Long = sent + structure + plan + rows
    def isSmall: Boolean = bytes <= Small && rows == 0
  }

  private val held = mutable.Map.empty[String, Held]

  /** Throw `LimitExceeded` if there is no room for the statement of this thread. */
  def require(): Unit = hold(plan = 0)

  /** Throw `LimitExceeded` if there is no room for the resolved plan that this thread works on. */
  def requireResolved(plan: LogicalPlan): Unit = ReceivedRequests.own.foreach { case (operation, request) =>
    val structure = PlanSize.of(plan).structure
    change(operation, request)(before => before.copy(structure = math.max(before.structure, structure)))
  }

  /**
   * Throw `LimitExceeded` if there is no room for the objects that the optimizer makes of the plan that this thread works on.
   */
  def require(plan: LogicalPlan): Unit = hold(worked(plan, Few))

  /** Add bytes of rows to the operation of this thread. Throw `LimitExceeded` if there is no room for them. */
  def add(rows: Long): Unit = ReceivedRequests.own.foreach { case (operation, request) => add(operation, request, rows) }

  /** Return the bytes of the operation of this thread. */
  def own: Long = synchronized(DriverThreads.own.flatMap(held.get).fold(0L)(_.bytes))

  def add(operation: String, request: ReceivedRequests.Request, rows: Long): Unit =
    change(operation, request)(before => before.copy(rows = before.rows + rows))

  private def hold(plan: Long): Unit = ReceivedRequests.own.foreach { case (operation, request) =>
    change(operation, request)(before => before.copy(plan = math.max(before.plan, plan)))
  }

  private def change(operation: String, request: ReceivedRequests.Request)(changed: Held => Held): Unit = synchronized {
    val before = held.get(operation)
    val wanted = changed(before.getOrElse(Held(request.principal, request.bytes)))
    if (!before.contains(wanted)) {
      if (!wanted.isSmall || held.size > Kept) forgetEnded()
      if (!wanted.isSmall) requireRoom(operation, wanted)
      held(operation) = wanted
    }
  }

  private def forgetEnded(): Unit = {
    val running = DriverThreads.all
    held.filterInPlace((operation, _) => running.contains(operation))
  }

  private def requireRoom(operation: String, wanted: Held): Unit =
    share.fault(wanted.principal, (held.view.filterKeys(_ != operation).values.toSeq :+ wanted).map(each => each.principal -> each.bytes))(
      s"the statement needs too much memory: the rows that were sent with it, its constants and expressions take ${wanted.bytes >> 20} MiB in Spark, and those of all your running statements together may take at most ${share.mebibytes} MiB; write the rows to a table first, use fewer expressions at once, or run the statement again when your other statements have finished",
      "this Spark has no memory for the data, constants and expressions of more statements; run the statement again when others have finished"
    ).foreach(fault => throw new LimitExceeded(fault))

  /** Return the bytes of a plan, and of the objects that Spark makes of it. */
  def of(plan: LogicalPlan): Long = PlanSize.of(plan).structure + worked(plan, free = 0)

  private def worked(plan: LogicalPlan, free: Int): Long = {
    var (nodes, constants) = (0L, 0L)
    plan.foreachWithSubqueries { node =>
      nodes += 1
      node.expressions.foreach(_.foreach { part =>
        nodes += 1
        constants += constant(part)
      })
    }
    Node * math.max(nodes - free, 0) + Copies * constants
  }

  private def constant(part: Expression): Long = part match {
    case Literal(value, _) => Sizes.of(value)
    case _ => 0
  }
}
