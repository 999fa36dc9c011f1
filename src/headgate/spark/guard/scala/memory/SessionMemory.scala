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
 * Limits the memory that the sessions of a principal keep in the driver between statements: the sessions themselves, temporary
 * views, variables and functions, frames and plans that are cached, and rows of streams.
 */
object SessionMemory {
  private val share = new HeapShare(8, 4)

  /** Bytes that a session takes once it has read a table, most of them for copies of Hadoop's settings in its catalogs. */
  private val OfSession = 1L << 20

  /** Sessions that a user may have, whatever the sessions of others keep. */
  private val Few = 4

  /** Nanoseconds between two garbage collections. */
  private val BetweenCollections = 2000000000L
  private var collected = System.nanoTime - BetweenCollections

  /** The principal of a session, and its key in Spark Connect. */
  private final case class Owner(principal: String, session: String)
  private final case class Held(owner: Owner, bytes: Long)

  private val owners: JavaMap[SparkSession, Owner] = weak

  /** The bytes of temporary views and of variables. */
  private val sizes: JavaMap[Product, java.lang.Long] = weak

  /** Objects without a name, for as long as something refers to them. */
  private val held: JavaMap[AnyRef, Held] = weak

  private def weak[K, V]: JavaMap[K, V] = new MapMaker().weakKeys().makeMap[K, V]()

  /**
   * Record a session that begins. The clone of a session has copies of what that session keeps; they are made here, because
   * Spark would make them at the first use, when that session may have ended. Throw `LimitExceeded` if the principal already
   * has `Few` sessions, and its sessions, or those of all principals, keep too much.
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

  /** Throw `LimitExceeded` if there is no memory for one more object of a session. */
  def require(session: SparkSession): Unit = synchronized {
    Option(owners.get(session)).foreach(owner => requireRoom(owner.principal, 0))
  }

  /** Return the open sessions, each with its principal. */
  def sessions: Seq[(String, SparkSession)] = owners.asScala.toSeq.map { case (session, owner) => owner.principal -> session }

  /**
   * Count a frame that the client refers to by its id. Its plan may refer to rows that were sent for the operation, and to the
   * expressions of a checkpoint that is not computed yet.
   */
  def keepFrame(frame: Dataset[_]): Unit = frame match {
    case frame: classic.Dataset[_] => own.foreach(keep(_, frame, PlanSize.of(frame.queryExecution.logical).bytes + PlanMemory.own))
    case _ =>
  }

  /** Count a plan whose rows Spark caches. */
  def keepCached(plan: LogicalPlan): Unit = own.foreach(keep(_, plan, PlanSize.of(plan).bytes))

  /** Count a temporary function, whose texts Spark keeps a second time in its description. */
  def keepFunction(function: SQLFunction): Unit = own.foreach(keep(_, function, 2 * PlanSize.of(function).bytes))

  /** Count a model or a summary of `spark.ml`. */
  def keepModel(model: AnyRef, bytes: Long): Unit = own.foreach(keep(_, model, bytes))

  /** Remove the rows that the session has cached. */
  def clearCache(session: SparkSession): Unit = Option(owners.get(session)).foreach(owner => cached(owner.session).foreach { plan =>
    uncache(plan)
    held.remove(plan)
  })

  /** Record the sink in which a stream of this principal keeps its rows. */
  def keepSink(sink: MemorySink): Unit = own.foreach(keep(_, sink, 0))

  /** Count the rows of a batch, which replace the earlier ones or are added to them. */
  def keepRows(sink: MemorySink, replaces: Boolean, rows: Array[Row]): Unit = synchronized {
    Option(held.get(sink)).foreach { before =>
      if (replaces) held.put(sink, before.copy(bytes = 0))
      keep(before.owner, sink, SizeEstimator.estimate(rows))
    }
  }

  /** Return the plans whose rows a session has cached. */
  private def cached(session: String): Iterable[LogicalPlan] =
    held.asScala.collect { case (plan: LogicalPlan, Held(owner, _)) if owner.session == session => plan }

  private def own: Option[Owner] = ReceivedRequests.own.map { case (_, request) => Owner(request.principal, request.session) }

  private def keep(owner: Owner, thing: AnyRef, bytes: Long): Unit = synchronized {
    requireRoom(owner.principal, bytes)
    held.merge(thing, Held(owner, bytes), (before, more) => before.copy(bytes = before.bytes + more.bytes))
  }

  /**
   * Throw `LimitExceeded` if there is no room, even after a garbage collection. Any user can cause a collection, so there are
   * few of them.
   */
  private def requireRoom(principal: String, more: Long): Unit = if (fault(principal, more).isDefined) {
    if (System.nanoTime - collected > BetweenCollections) {
      System.gc()
      collected = System.nanoTime
    }
    fault(principal, more).foreach(fault => throw new LimitExceeded(fault))
  }

  private def fault(principal: String, more: Long): Option[String] = share.fault(principal, kept :+ (principal -> more))(
    s"your Spark sessions with their temporary views, functions, variables, cached rows and rows of streaming queries take more than ${share.mebibytes} MiB (each session counts 1 MiB); stop some sessions, drop some of these objects, or write the data to tables",
    "this Spark has no memory for more sessions, temporary views, variables and cached rows; write the data to a table, or try again when other sessions have stopped")

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

  /**
   * Empties sessions that their clients have closed: a thread of a pool may refer to one for a long time, and Spark's cache is
   * shared by all sessions.
   */
  object Ends extends SparkListener {
    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case closed: SparkListenerConnectSessionClosed =>
        val closing = ReceivedRequests.session(closed.userId, closed.sessionId)
        owners.asScala.collect { case (session, owner) if owner.session == closing => session }.foreach(empty)
        cached(closing).foreach(uncache)
      case _ =>
    }
  }

  private def empty(session: SparkSession): Unit = {
    val catalog = session.sessionState.catalog
    catalog.getTempViewNames().foreach(catalog.dropTempView)
    session.sessionState.catalogManager.tempVariableManager.clear()
    owners.remove(session)
  }

  /**
   * Remove a plan from the cache, and the plans of other sessions that were cached from its rows: no session would rebuild
   * those with the privileges of these sessions.
   */
  private def uncache(plan: LogicalPlan): Unit =
    classic.SparkSession.getDefaultSession.foreach(any => any.sharedState.cacheManager.uncacheQuery(any, plan, cascade = true))
}
