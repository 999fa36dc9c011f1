package io.headgate.guard

import java.lang.ref.WeakReference

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.AnalysisContext

/**
 * The statement under analysis: who asks, and which of its needs have been allowed.
 *
 * Spark analyzes one statement in many nested passes (each subquery and view is one), and they share a
 * relation cache that no other statement has. Answers live exactly as long, so that a revoke counts from
 * the next statement on.
 */
object Statement {
  private val Unsigned = "this Spark session has no principal; connect through the Headgate gateway"
  private val TokenKey = "spark.headgate.principal.token"

  private final case class Allowed(scope: WeakReference[AnyRef], handle: String, needs: Set[Need]) {
    def is(asker: String, now: AnyRef): Boolean = handle == asker && (scope.get eq now)
  }

  private val allowed = new ThreadLocal[Allowed]

  /** Throws `AccessDenied` unless the session's principal is signed by this driver's key. */
  def requirePrincipal(session: SparkSession): Unit = handle(session)

  /** What people call the session's principal. */
  def principal(session: SparkSession): String = Decisions.principal(handle(session))

  /** Asks for those needs that this statement has not asked for yet; throws `AccessDenied` if one is refused. */
  def require(session: SparkSession, needs: Set[Need], description: String): Unit = {
    val asker = handle(session)
    val known = Option(allowed.get).filter(_.is(asker, scope)).fold(Set.empty[Need])(_.needs)
    allowed.set(Allowed(new WeakReference(scope), asker, known))
    ask(session, asker, needs -- known, description)
    allowed.set(Allowed(new WeakReference(scope), asker, known ++ needs))
  }

  /** Asks whether the principal may know a name, unless this statement has been allowed something on it. */
  def requireKnown(session: SparkSession, name: Seq[String]): Unit = {
    val known = Option(allowed.get).filter(_.is(handle(session), scope)).fold(Set.empty[Need])(_.needs)
    val isKnown = known.exists { case ObjectNeed(_, `name`) => true; case _ => false }
    if (!isKnown) require(session, Set(Need.discover(name)), "catalog")
  }

  /**
   * The last question about a statement: Spark has given up its relation cache by now, so what was allowed last
   * on this thread counts, once.
   */
  def close(session: SparkSession, needs: Set[Need], description: String): Unit = {
    val asker = handle(session)
    val known = Option(allowed.get).filter(_.handle == asker).fold(Set.empty[Need])(_.needs)
    allowed.remove()
    ask(session, asker, needs -- known, description)
  }

  private def ask(session: SparkSession, asker: String, needs: Set[Need], description: String): Unit =
    if (needs.nonEmpty) Decisions.require(asker, needs.toSeq, description, Operation.current(session))

  private def handle(session: SparkSession): String =
    Option(session.sessionState.conf.getConfString(TokenKey, null))
      .flatMap(Trust.handleIn)
      .getOrElse(throw new AccessDenied(Unsigned))

  private def scope: AnyRef = AnalysisContext.get.relationCache
}
