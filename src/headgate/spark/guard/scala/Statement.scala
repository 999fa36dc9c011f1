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

  private final case class Allowed(scope: WeakReference[AnyRef], handle: String, needs: Set[Need])

  private val allowed = new ThreadLocal[Allowed]

  /** Throws `AccessDenied` unless the session's principal is signed by this driver's key. */
  def requirePrincipal(session: SparkSession): Unit = handle(session)

  /** Asks for those needs that this statement has not asked for yet; throws `AccessDenied` if one is refused. */
  def require(session: SparkSession, needs: Set[Need], description: String): Unit = {
    val asker = handle(session)
    val known = needsAllowed(asker)
    val open = needs -- known
    if (open.nonEmpty) {
      Decisions.require(asker, open.toSeq, description)
      allowed.set(Allowed(new WeakReference(scope), asker, known ++ open))
    }
  }

  private def handle(session: SparkSession): String =
    Option(session.sessionState.conf.getConfString(TokenKey, null))
      .flatMap(Trust.handleIn)
      .getOrElse(throw new AccessDenied(Unsigned))

  private def needsAllowed(asker: String): Set[Need] = allowed.get match {
    case Allowed(ofScope, `asker`, needs) if ofScope.get eq scope => needs
    case _ => Set.empty
  }

  private def scope: AnyRef = AnalysisContext.get.relationCache
}
