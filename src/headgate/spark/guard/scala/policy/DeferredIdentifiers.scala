package io.headgate.guard.policy

import java.lang.ref.WeakReference

import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Statements that act on a name which IDENTIFIER(...) computes. `ParsedPlanRule` sees them first, without the name; it
 * sees the name later and alone, and what acts on it may never do so again: some commands fail before they are resolved.
 */
object DeferredIdentifiers {
  private final case class Waiting(statement: WeakReference[AnyRef], plan: LogicalPlan)

  private val waiting = new ThreadLocal[Waiting]

  /** The plan itself or, where it is the name that a statement waits for, that statement with the name. */
  def completed(plan: LogicalPlan): LogicalPlan = plan match {
    case _: UnresolvedTable | _: UnresolvedTableOrView | _: UnresolvedView | _: UnresolvedIdentifier | _: UnresolvedNamespace =>
      Option(waiting.get).filter(_.statement.get eq statement).fold(plan)(_.plan.transform { case Pending() => plan })
    case _ =>
      if (plan.exists(Pending.unapply)) waiting.set(Waiting(new WeakReference(statement), plan))
      plan
  }

  /** What Spark keeps for one statement and no other. */
  private def statement: AnyRef = AnalysisContext.get.relationCache

  private object Pending {
    def unapply(plan: LogicalPlan): Boolean = plan.isInstanceOf[PlanWithUnresolvedIdentifier]
  }
}
