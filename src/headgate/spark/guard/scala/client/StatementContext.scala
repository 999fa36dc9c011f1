package io.headgate.guard.client

import java.lang.ref.WeakReference

import scala.util.control.NonFatal

import io.headgate.guard.driver.OperationId
import io.headgate.guard.policy.{AccessDenied, ColumnLineage, RequiredCall, RequiredName, RequiredOperation, RequiredPrivilege, Target}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.AnalysisContext

/**
 * The statement under analysis: its principal, and those of its required privileges that have been allowed.
 *
 * Spark analyzes one statement in many nested passes (each subquery and view is one), which share a relation cache that no
 * other statement has. Allowed privileges are kept for exactly as long as this cache, so a revoke takes effect with the next
 * statement.
 */
object StatementContext {
  private val Unsigned = "the Spark session was not opened through the Headgate gateway; connect through the gateway"
  /** The operations that create an object in the last of their resources. */
  private val Creating = Set("resource.create", "table.rename", "table.replace")
  private val TokenKey = "headgate.principal.token"

  private final case class Allowed(scope: WeakReference[AnyRef], handle: String, needs: Set[RequiredPrivilege]) {
    def is(asker: String, now: AnyRef): Boolean = handle == asker && (scope.get eq now)
  }

  private val allowed = new ThreadLocal[Allowed]

  /** The allowed privileges of the last statement that was decided on this thread, while it runs. */
  private val running = new ThreadLocal[Allowed]

  /**
   * The privileges that an operation has required so far, in all statements inside it; whether one of them has read data, and
   * whether one of them was computed from that data.
   */
  final case class Accumulated(operation: String, asker: String, needs: Set[RequiredPrivilege], reads: Boolean, computes: Boolean = false)

  private val accumulated = new ThreadLocal[Accumulated]

  /** The handle whose statements on this thread are reported for lineage. */
  private val traced = new ThreadLocal[String]

  /** Begin a statement. Throw `AccessDenied` unless the session's principal is signed by this driver's key. */
  def begin(session: SparkSession): Unit = {
    running.remove()
    handle(session)
  }

  /**
   * Return the privileges that the operation on this thread has required since it began. Work without an operation id has none:
   * its effects cannot be distinguished from those of earlier work on the thread.
   */
  def sinceBegin(session: SparkSession): Option[Accumulated] = OperationId.ofThread(session).map { operation =>
    val asker = handle(session)
    Option(accumulated.get).filter(each => each.operation == operation && each.asker == asker).getOrElse(Accumulated(operation, asker, Set.empty, reads = false))
  }

  /** Return the display name of the session's principal. */
  def principal(session: SparkSession): String = DecisionClient.principal(handle(session))

  /**
   * Request decisions on the privileges that this statement has not been allowed yet. Throw `AccessDenied` if one is refused.
   */
  def require(session: SparkSession, needs: Set[RequiredPrivilege], description: String): Unit = {
    val asker = handle(session)
    val known = Option(allowed.get).filter(_.is(asker, scope)).fold(Set.empty[RequiredPrivilege])(_.needs)
    allowed.set(Allowed(new WeakReference(scope), asker, known))
    ask(session, asker, needs -- known, description)
    allowed.set(Allowed(new WeakReference(scope), asker, known ++ needs))
  }

  /**
   * Whether the principal has all these privileges now. A refusal throws nothing, and does not change what the statement is
   * allowed.
   */
  def allows(session: SparkSession, needs: Set[RequiredPrivilege]): Boolean = DecisionClient.allows(handle(session), needs.toSeq, OperationId.current(session))

  /** Request decisions on all these privileges now, whatever was allowed before. Throw `AccessDenied` if one is refused. */
  def again(session: SparkSession, needs: Set[RequiredPrivilege], description: String): Unit = ask(session, handle(session), needs, description)

  /**
   * Throw `AccessDenied` unless the principal may know of a name, or this statement has been allowed an action on it. A
   * principal that may create an object learns whether it exists.
   */
  def requireKnown(session: SparkSession, name: Seq[String]): Unit =
    if (!needs(session).exists(isAbout(name))) require(session, Set(RequiredPrivilege.discover(name)), "catalog")

  /**
   * Throw `AccessDenied` unless the principal may read a name that was found during the analysis of a statement, or this
   * statement has been allowed an action on it. Outside of a statement, it is enough that the principal may know of the name.
   */
  def requireReadable(session: SparkSession, name: Seq[String]): Unit =
    if (!isOpen(session)) requireKnown(session, name)
    else if (!needs(session).exists(isAbout(name))) require(session, RequiredPrivilege.of("read", Target.Relation(name)).toSet, "view")

  /**
   * Request the last decision on a statement. Spark has released its relation cache by now, so the privileges that were allowed
   * last on this thread count, once. `reads` is whether the statement reads data that a privilege protects.
   */
  def close(session: SparkSession, needs: Set[RequiredPrivilege], description: String, reads: Boolean): Unit = {
    val asker = handle(session)
    val last = Option(allowed.get).filter(_.handle == asker)
    val known = last.fold(Set.empty[RequiredPrivilege])(_.needs)
    allowed.remove()
    ask(session, asker, needs -- known, description)
    last.foreach(running.set)
    accumulate(session, needs, reads)
  }

  /** Add to the privileges of the operation, which are kept until it ends, whatever statements it nests. */
  private def accumulate(session: SparkSession, needs: Set[RequiredPrivilege], reads: Boolean): Unit = sinceBegin(session).foreach { before =>
    accumulated.set(before.copy(needs = before.needs ++ needs, reads = before.reads || reads))
  }

  /** Record that the next statements of the operation may be computed from what it has read so far. */
  def computes(session: SparkSession): Unit = sinceBegin(session).filter(_.needs.nonEmpty).foreach { before =>
    accumulated.set(before.copy(computes = true))
  }

  private def needs(session: SparkSession): Set[RequiredPrivilege] = {
    val asker = handle(session)
    (Option(allowed.get).filter(_.is(asker, scope)) ++ Option(running.get).filter(_.handle == asker)).flatMap(_.needs).toSet
  }

  private def isOpen(session: SparkSession): Boolean = Option(allowed.get).exists(_.is(handle(session), scope))

  private def isAbout(name: Seq[String])(need: RequiredPrivilege): Boolean = need match {
    case RequiredName(_, `name`) | RequiredCall(_, `name`, _, _) => true
    case RequiredOperation(operation, on, _) =>
      on.exists { case (_, named) => named == name } || (Creating.contains(operation) && on.last._2 == name.init)
    case _ => false
  }

  private def ask(session: SparkSession, asker: String, needs: Set[RequiredPrivilege], description: String): Unit = if (needs.nonEmpty) {
    if (DecisionClient.require(asker, needs.toSeq, description, OperationId.current(session))) traced.set(asker)
    accumulate(session, needs, reads = false)
  }

  /**
   * Report the lineage of the columns that a statement writes, if lineage is recorded for the principal. A failed report fails
   * no statement.
   */
  def tell(session: SparkSession, written: => Option[ColumnLineage.Written]): Unit = {
    val asker = handle(session)
    if (traced.get == asker)
      try written.filter(_.columns.nonEmpty).foreach(DecisionClient.tell(asker, _))
      catch { case NonFatal(_) => }
  }

  /**
   * Return the handle of the session's principal. Throw `AccessDenied` if the session has no handle that this driver's key has
   * signed.
   */
  def handle(session: SparkSession): String =
    Option(session.sessionState.conf.getConfString(TokenKey, null))
      .flatMap(DriverKey.handleIn)
      .getOrElse(throw new AccessDenied(Unsigned))

  private def scope: AnyRef = AnalysisContext.get.relationCache
}
