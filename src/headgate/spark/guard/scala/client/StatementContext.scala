package io.headgate.guard.client

import java.lang.ref.WeakReference

import scala.util.control.NonFatal

import io.headgate.guard.driver.OperationId
import io.headgate.guard.policy.{AccessDenied, ColumnLineage, RequiredCall, RequiredName, RequiredPrivilege, Target}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.AnalysisContext

/**
 * The statement under analysis: who asks, and which of its needs have been allowed.
 *
 * Spark analyzes one statement in many nested passes (each subquery and view is one), and they share a
 * relation cache that no other statement has. Answers live exactly as long, so that a revoke counts from
 * the next statement on.
 */
object StatementContext {
  private val Unsigned = "this Spark session has no principal; connect through the Headgate gateway"
  private val TokenKey = "headgate.principal.token"

  private final case class Allowed(scope: WeakReference[AnyRef], handle: String, needs: Set[RequiredPrivilege]) {
    def is(asker: String, now: AnyRef): Boolean = handle == asker && (scope.get eq now)
  }

  private val allowed = new ThreadLocal[Allowed]

  /** What the last statement that was decided on this thread may do, while it runs. */
  private val running = new ThreadLocal[Allowed]

  /**
   * What an operation has needed so far, in all statements that ran inside it; whether any of them read something, and
   * whether one of them was computed of it.
   */
  final case class Accumulated(operation: String, asker: String, needs: Set[RequiredPrivilege], reads: Boolean, computes: Boolean = false)

  private val accumulated = new ThreadLocal[Accumulated]

  /** Whose statements on this thread lineage hears of. */
  private val traced = new ThreadLocal[String]

  /** A statement begins. Throws `AccessDenied` unless the session's principal is signed by this driver's key. */
  def begin(session: SparkSession): Unit = {
    running.remove()
    handle(session)
  }

  /**
   * What the operation on this thread has needed since it began. Work without a name of its own has none: what it leaves
   * behind cannot be told from what the thread did before.
   */
  def sinceBegin(session: SparkSession): Option[Accumulated] = OperationId.current(session).map { operation =>
    val asker = handle(session)
    Option(accumulated.get).filter(each => each.operation == operation && each.asker == asker).getOrElse(Accumulated(operation, asker, Set.empty, reads = false))
  }

  /** What people call the session's principal. */
  def principal(session: SparkSession): String = DecisionClient.principal(handle(session))

  /** Asks for those needs that this statement has not asked for yet; throws `AccessDenied` if one is refused. */
  def require(session: SparkSession, needs: Set[RequiredPrivilege], description: String): Unit = {
    val asker = handle(session)
    val known = Option(allowed.get).filter(_.is(asker, scope)).fold(Set.empty[RequiredPrivilege])(_.needs)
    allowed.set(Allowed(new WeakReference(scope), asker, known))
    ask(session, asker, needs -- known, description)
    allowed.set(Allowed(new WeakReference(scope), asker, known ++ needs))
  }

  /** Whether the principal has all of this now. Nothing fails by a refusal, and what this statement may go on with is unchanged. */
  def allows(session: SparkSession, needs: Set[RequiredPrivilege]): Boolean = DecisionClient.allows(handle(session), needs.toSeq, OperationId.current(session))

  /** Asks for all needs now, whatever was allowed before. */
  def again(session: SparkSession, needs: Set[RequiredPrivilege], description: String): Unit = ask(session, handle(session), needs, description)

  /**
   * Asks whether the principal may know a name, unless this statement has been allowed something on it: whoever may
   * make a thing learns whether there is one.
   */
  def requireKnown(session: SparkSession, name: Seq[String]): Unit =
    if (!needs(session).exists(isAbout(name))) require(session, Set(RequiredPrivilege.discover(name)), "catalog")

  /**
   * Asks whether the principal may read from a name that came up while a statement is analyzed, unless this
   * statement has been allowed something on it; without a statement, whether it may know the name.
   */
  def requireReadable(session: SparkSession, name: Seq[String]): Unit =
    if (!isOpen(session)) requireKnown(session, name)
    else if (!needs(session).exists(isAbout(name))) require(session, RequiredPrivilege.of("read", Target.Relation(name)).toSet, "view")

  /**
   * The last question about a statement: Spark has given up its relation cache by now, so what was allowed last
   * on this thread counts, once. `reads` says whether the statement reads anything that a need stands for.
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

  /** Nothing that an operation has needed is forgotten before it ends, whatever statements it nests. */
  private def accumulate(session: SparkSession, needs: Set[RequiredPrivilege], reads: Boolean): Unit = sinceBegin(session).foreach { before =>
    accumulated.set(before.copy(needs = before.needs ++ needs, reads = before.reads || reads))
  }

  /** Remembers that the next statements of the operation may be computed of what it has needed so far. */
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
    case RequiredName(action, holder) => action.contains(".create_") && holder == name.init
    case _ => false
  }

  private def ask(session: SparkSession, asker: String, needs: Set[RequiredPrivilege], description: String): Unit = if (needs.nonEmpty) {
    if (DecisionClient.require(asker, needs.toSeq, description, OperationId.current(session))) traced.set(asker)
    accumulate(session, needs, reads = false)
  }

  /** Says what a statement writes of what, where somebody hears of that. No statement fails because it cannot be said. */
  def tell(session: SparkSession, written: => Option[ColumnLineage.Written]): Unit = {
    val asker = handle(session)
    if (traced.get == asker)
      try written.filter(_.columns.nonEmpty).foreach(DecisionClient.tell(asker, _))
      catch { case NonFatal(_) => }
  }

  /** The handle of the session's principal; throws `AccessDenied` where it has none that this driver's key has signed. */
  def handle(session: SparkSession): String =
    Option(session.sessionState.conf.getConfString(TokenKey, null))
      .flatMap(DriverKey.handleIn)
      .getOrElse(throw new AccessDenied(Unsigned))

  private def scope: AnyRef = AnalysisContext.get.relationCache
}
