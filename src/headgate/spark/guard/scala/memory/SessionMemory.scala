package io.headgate.guard.memory

import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import com.google.common.collect.MapMaker
import io.headgate.guard.driver.ReceivedRequests
import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.policy.SessionVariables
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.{Dataset, Row, SparkSession, classic}
import org.apache.spark.sql.catalyst.catalog.{SQLFunction, TemporaryViewRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connect.service.{SessionHolder, SparkListenerConnectSessionClosed}
import org.apache.spark.sql.execution.streaming.sources.MemorySink
import org.apache.spark.util.SizeEstimator

/**
 * Bounds the memory that the sessions of a principal keep in the driver between statements: the sessions themselves, temporary
 * views, variables and functions, frames and plans that are cached, rows of streams.
 */
object SessionMemory {
  private val share = new HeapShare(8, 4)

  /** Bytes that a session takes once it has read a table, most of them for copies of Hadoop's settings in its catalogs. */
  private val OfSession = 1L << 20

  /** Sessions that a user may have however much the sessions of others keep. */
  private val Few = 4

  /** Nanoseconds. */
  private val BetweenCollections = 2000000000L
  private var collected = System.nanoTime - BetweenCollections

  /** Whose a session is, and by what Spark Connect knows it. */
  private final case class Owner(principal: String, session: String)
  private final case class Held(owner: Owner, bytes: Long)

  private val owners: JavaMap[SparkSession, Owner] = weak

  /** The bytes of temporary views and of variables. */
  private val sizes: JavaMap[Product, java.lang.Long] = weak

  /** What no name leads to, for as long as something refers to it. */
  private val held: JavaMap[AnyRef, Held] = weak

  private def weak[K, V]: JavaMap[K, V] = new MapMaker().weakKeys().makeMap[K, V]()

  /**
   * A session begins. The clone of one has what that keeps: Spark would copy it at the first use, when the session may have ended.
   * Throws `LimitExceeded` if the principal has a few already, and they, or all, keep too much.
   */
  def open(session: SessionHolder): Unit = {
    session.session.sessionState.catalog
    session.session.sessionState.catalogManager
    val owner = Owner(ReceivedRequests.principal(session.userId), ReceivedRequests.session(session.userId, session.sessionId))
    synchronized {
      if (owners.values.asScala.count(_.principal == owner.principal) >= Few) requireRoom(owner.principal, OfSession)
      owners.put(session.session, owner)
    }
  }

  /** Throws `LimitExceeded` if a session cannot keep one thing more. */
  def require(session: SparkSession): Unit = synchronized {
    Option(owners.get(session)).foreach(owner => requireRoom(owner.principal, 0))
  }

  /** The open sessions, each with its principal. */
  def sessions: Seq[(String, SparkSession)] = owners.asScala.toSeq.map { case (session, owner) => owner.principal -> session }

  /**
   * A frame that the client refers to by its id. Behind its plan can be the rows that were sent for the operation, and the
   * expressions that a checkpoint which is not computed yet is to be computed from.
   */
  def keepFrame(frame: Dataset[_]): Unit = frame match {
    case frame: classic.Dataset[_] => own.foreach(keep(_, frame, PlanSize.of(frame.queryExecution.logical).bytes + PlanMemory.own))
    case _ =>
  }

  /** A plan whose rows Spark caches. */
  def keepCached(plan: LogicalPlan): Unit = own.foreach(keep(_, plan, PlanSize.of(plan).bytes))

  /** A temporary function, whose texts Spark keeps once more in what it says of the function. */
  def keepFunction(function: SQLFunction): Unit = own.foreach(keep(_, function, 2 * PlanSize.of(function).bytes))

  /** A stream of this principal's keeps its rows in the sink. */
  def keepSink(sink: MemorySink): Unit = own.foreach(keep(_, sink, 0))

  /** The rows of a batch, in the place of those before or beside them. */
  def keepRows(sink: MemorySink, replaces: Boolean, rows: Array[Row]): Unit = synchronized {
    Option(held.get(sink)).foreach { before =>
      if (replaces) held.put(sink, before.copy(bytes = 0))
      keep(before.owner, sink, SizeEstimator.estimate(rows))
    }
  }

  private def own: Option[Owner] = ReceivedRequests.own.map { case (_, request) => Owner(request.principal, request.session) }

  private def keep(owner: Owner, thing: AnyRef, bytes: Long): Unit = synchronized {
    requireRoom(owner.principal, bytes)
    held.merge(thing, Held(owner, bytes), (before, more) => before.copy(bytes = before.bytes + more.bytes))
  }

  /** There may be room after a garbage collection. Any user can cause one, so there are few. */
  private def requireRoom(principal: String, more: Long): Unit = if (fault(principal, more).isDefined) {
    if (System.nanoTime - collected > BetweenCollections) {
      System.gc()
      collected = System.nanoTime
    }
    fault(principal, more).foreach(fault => throw new LimitExceeded(fault))
  }

  private def fault(principal: String, more: Long): Option[String] = share.fault(principal, kept :+ (principal -> more))(
    s"what your sessions keep in Spark (a MiB each; temporary views, functions and variables, cached rows, rows of streams) takes more than ${share.mebibytes} MiB; end some sessions, drop what they keep, or write the data to tables",
    "this Spark has no memory for more sessions, temporary views, variables and cached rows; write the data to a table, or try again when other sessions have ended")

  private def kept: Seq[(String, Long)] =
    owners.asScala.toSeq.map { case (session, owner) => owner.principal -> of(session) } ++ held.values.asScala.map(each => each.owner.principal -> each.bytes)

  private def of(session: SparkSession): Long = {
    val catalog = session.sessionState.catalog
    val known = catalog.getTempViewNames().flatMap(catalog.getRawTempView)
    OfSession + (known ++ SessionVariables.of(session)).map(sizes.computeIfAbsent(_, of(_: Product)).longValue).sum
  }

  private def of(kept: Product): java.lang.Long = kept match {
    case view: TemporaryViewRelation => PlanSize.of(view).bytes
    case variable => PlanSize.of(variable).bytes
  }

  /** Empties sessions that their clients have closed: a thread of a pool may refer to one for long, and Spark caches for all of them. */
  object Ends extends SparkListener {
    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case closed: SparkListenerConnectSessionClosed =>
        val closing = ReceivedRequests.session(closed.userId, closed.sessionId)
        owners.asScala.collect { case (session, owner) if owner.session == closing => session }.foreach(empty)
        held.asScala.collect { case (plan: LogicalPlan, Held(owner, _)) if owner.session == closing => plan }.foreach(uncache)
      case _ =>
    }
  }

  private def empty(session: SparkSession): Unit = {
    val catalog = session.sessionState.catalog
    catalog.getTempViewNames().foreach(catalog.dropTempView)
    session.sessionState.catalogManager.tempVariableManager.clear()
    owners.remove(session)
  }

  /** What other sessions have cached of these rows goes as well: no session would rebuild it with their rights. */
  private def uncache(plan: LogicalPlan): Unit =
    classic.SparkSession.getDefaultSession.foreach(any => any.sharedState.cacheManager.uncacheQuery(any, plan, cascade = true))
}
