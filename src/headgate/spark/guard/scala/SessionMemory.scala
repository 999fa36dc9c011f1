package io.headgate.guard

import java.util.{Map => JavaMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.google.common.collect.MapMaker
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.connect.service.SparkListenerConnectSessionClosed

/** Bounds the memory that the sessions of a principal keep in the driver between statements: in temporary views and variables. */
object SessionMemory {
  /** Parts of the heap for one principal, and for all of them. */
  private val PrincipalShare = 8
  private val Share = 4

  private final case class Owner(principal: String, sessionId: Option[String])

  private val owners: JavaMap[SparkSession, Owner] = new MapMaker().weakKeys().makeMap[SparkSession, Owner]()

  /** Throws `LimitExceeded` if a session cannot keep one thing more. */
  def require(session: SparkSession): Unit = synchronized {
    Requests.own.foreach { case (_, request) => owners.put(session, Owner(request.principal, Operation.sessionId(session))) }
    excess(session).foreach(why => throw new LimitExceeded(why))
  }

  /** Empties sessions whose client has ended them: a thread of a pool may hold on to one for long. */
  object Ends extends SparkListener {
    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case closed: SparkListenerConnectSessionClosed =>
        owners.asScala.collect { case (session, owner) if owner.sessionId.contains(closed.sessionId) => session }.foreach(empty)
      case _ =>
    }
  }

  private def empty(session: SparkSession): Unit = {
    val catalog = session.sessionState.catalog
    catalog.getTempViewNames().foreach(catalog.dropTempView)
    session.sessionState.catalogManager.tempVariableManager.clear()
    owners.remove(session)
  }

  private def excess(session: SparkSession): Option[String] = {
    val heap = Runtime.getRuntime.maxMemory
    val kept = owners.asScala.toSeq.map { case (each, owner) => (owner.principal, of(each)) }
    val principal = Option(owners.get(session)).map(_.principal)
    val own = kept.collect { case (other, bytes) if principal.contains(other) => bytes }.sum
    if (own > heap / PrincipalShare)
      Some(s"temporary views and variables of your sessions keep ${own >> 20} MiB in Spark, and may keep ${heap / PrincipalShare >> 20} MiB; drop some, or write the data to tables")
    else if (kept.map(_._2).sum > heap / Share)
      Some("this Spark has no memory for more temporary views and variables; write the data to a table, or try again when other sessions have ended")
    else None
  }

  private def of(session: SparkSession): Long = {
    val catalog = session.sessionState.catalog
    val views = catalog.getTempViewNames().flatMap(catalog.getRawTempView)
    views.map(view => view.tableMeta.viewText.fold(0L)(_.length.toLong) + view.plan.fold(0L)(of)).sum + Variables.bytes(session)
  }

  private def of(plan: LogicalPlan): Long = {
    val seen = mutable.Set.empty[AnyRef]
    plan.collectWithSubqueries {
      case local: LocalRelation if seen.add(local.data) => local.data.map(Sizes.of).sum
      case node => node.expressions.map(_.collect { case Literal(value, _) => Sizes.of(value) }.sum).sum
    }.sum
  }
}
