package io.headgate.guard.streams

import java.util.{Map => JavaMap}

import scala.collection.mutable

import com.google.common.collect.MapMaker
import io.headgate.guard.driver.{DriverThreads, ReceivedRequests}
import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.memory.{HeapShare, PlanMemory, SessionMemory}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.streaming.runtime.{StreamExecution, StreamingQueryWrapper}
import org.apache.spark.sql.streaming.StreamingQuery

/**
 * Limits of active streams. Their number is limited, because each has threads until its user stops it; the size of their plans
 * is limited, because each batch is planned.
 */
object ActiveStreams {
  private val PerPrincipal = 64
  private val Overall = 256

  /** Nanoseconds for which a start without room waits: a stream counts twice while its start ends. */
  private val Patience = 1000000000L
  private val Pause = 50L

  private val share = new HeapShare(8, 4)

  /** Bytes of a stream besides its plans, most of them for the progress of its latest hundred batches. */
  private val OfStream = 512L << 10

  private final case class Active(principal: String, bytes: Long)

  /** The bytes of streams, which do not change. */
  private val sizes: JavaMap[StreamExecution, java.lang.Long] = new MapMaker().weakKeys().makeMap()

  /** The stream that each operation may be about to start. */
  private val starting = mutable.Map.empty[String, Active]

  /** Throw `LimitExceeded` if the principal of this request cannot start another stream with this plan. */
  def requireRoom(plan: LogicalPlan): Unit = ReceivedRequests.own.foreach { case (operation, request) =>
    val deadline = System.nanoTime + Patience
    val wanted = Active(request.principal, of(plan))
    var fault = reserve(operation, wanted)
    while (fault.isDefined && System.nanoTime < deadline) {
      Thread.sleep(Pause)
      fault = reserve(operation, wanted)
    }
    fault.foreach(message => throw new LimitExceeded(message))
  }

  /** Count a start from now on, or return the reason why there is no room for it. */
  private def reserve(operation: String, wanted: Active): Option[String] = synchronized {
    val running = DriverThreads.all
    starting.filterInPlace((other, _) => other != operation && running.contains(other))
    val others = active ++ starting.values
    val fault = full(wanted.principal, others.map(_.principal)).orElse(large(wanted.principal, others :+ wanted))
    if (fault.isEmpty) starting(operation) = wanted
    fault
  }

  private def full(principal: String, streams: Seq[String]): Option[String] =
    if (streams.count(_ == principal) >= PerPrincipal)
      Some(s"$PerPrincipal of your streaming queries are active, as many as one user may have; stop one of them, then start this query again")
    else
      Option.when(streams.size >= Overall)(
        s"$Overall streaming queries of all users are active in your organization's Spark, as many as it runs; start this query again when others have stopped")

  private def large(principal: String, streams: Seq[Active]): Option[String] =
    share.fault(principal, streams.map(each => each.principal -> each.bytes))(
      s"your active streaming queries and the query to be started take more than ${share.mebibytes} MiB in Spark together; stop some of the active ones, or use fewer expressions",
      "this Spark has no memory for more streaming queries; start this query again when others have stopped")

  private def active: Seq[Active] = SessionMemory.sessions.flatMap { case (principal, session) =>
    session.streams.active.toSeq.map(stream => Active(principal, bytes(stream)))
  }

  /** Return the bytes of a stream, which may have ended. */
  def bytes(stream: StreamingQuery): Long = stream match {
    case stream: StreamingQueryWrapper => sizes.computeIfAbsent(stream.streamingQuery, each => of(each.analyzedPlan))
    case _ => 0
  }

  private def of(plan: LogicalPlan): Long = OfStream + PlanMemory.of(plan)
}
