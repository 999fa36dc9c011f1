package io.headgate.guard

import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import com.google.common.collect.MapMaker
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.connect.service.SparkListenerConnectSessionClosed

/** Bounds the memory that the sessions of a principal keep in the driver between statements: in temporary views and variables. */
object SessionMemory {
  /** Parts of the heap for one principal, and for all of them. */
  private val PrincipalShare = 8
  private val Share = 4

  /** Whose a session is, and by what Spark Connect knows it. */
  private final case class Owner(principal: String, tag: Option[String])

  private val owners: JavaMap[SparkSession, Owner] = new MapMaker().weakKeys().makeMap[SparkSession, Owner]()
  private val views: JavaMap[TemporaryViewRelation, java.lang.Long] = new MapMaker().weakKeys().makeMap[TemporaryViewRelation, java.lang.Long]()

  /** Throws `LimitExceeded` if a session cannot keep one thing more. */
  def require(session: SparkSession): Unit = synchronized {
    Requests.own.foreach { case (_, request) => owners.put(session, Owner(request.principal, Operation.sessionTag(session))) }
    val kept = owners.asScala.toSeq.map { case (each, owner) => (owner.principal, of(each)) }
    val principal = Option(owners.get(session)).map(_.principal)
    requireRoom(kept.collect { case (other, bytes) if principal.contains(other) => bytes }.sum, kept.map(_._2).sum)
  }

  private def requireRoom(own: Long, all: Long): Unit = {
    val heap = Runtime.getRuntime.maxMemory
    if (own > heap / PrincipalShare)
      throw new LimitExceeded(
        s"the temporary views and variables of your sessions keep ${own >> 20} MiB in Spark, and may keep ${heap / PrincipalShare >> 20} MiB; drop some, or write the data to tables")
    if (all > heap / Share)
      throw new LimitExceeded("this Spark has no memory for more temporary views and variables; write the data to a table, or try again when other sessions have ended")
  }

  /** Empties sessions that their clients have closed: a thread of a pool may refer to one for long. */
  object Ends extends SparkListener {
    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case closed: SparkListenerConnectSessionClosed =>
        val tag = Operation.sessionTag(closed.userId, closed.sessionId)
        owners.asScala.collect { case (session, owner) if owner.tag.contains(tag) => session }.foreach(empty)
      case _ =>
    }
  }

  private def empty(session: SparkSession): Unit = {
    val catalog = session.sessionState.catalog
    catalog.getTempViewNames().foreach(catalog.dropTempView)
    session.sessionState.catalogManager.tempVariableManager.clear()
    owners.remove(session)
  }

  private def of(session: SparkSession): Long = {
    val catalog = session.sessionState.catalog
    val known = catalog.getTempViewNames().flatMap(catalog.getRawTempView)
    known.map(view => views.computeIfAbsent(view, of(_: TemporaryViewRelation)).longValue).sum + Variables.bytes(session)
  }

  private def of(view: TemporaryViewRelation): java.lang.Long =
    view.tableMeta.viewText.fold(0L)(_.length.toLong) + view.plan.fold(0L)(plan => PlanMemory.constants(plan) + rows(plan))

  private def rows(plan: LogicalPlan): Long =
    plan.collectWithSubqueries { case local: LocalRelation => local.data }.distinctBy(System.identityHashCode).map(_.iterator.map(Sizes.of).sum).sum
}
