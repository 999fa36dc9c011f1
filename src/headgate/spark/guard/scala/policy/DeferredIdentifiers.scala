package io.headgate.guard.policy

import java.lang.ref.WeakReference

import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Statements that act on a name computed by IDENTIFIER(...). `ParsedPlanRule` sees such a statement first without the name, and
 * later sees the name alone. It may never see both together, because some commands fail before they are resolved. So the
 * statement is kept until its name is known.
 */
object DeferredIdentifiers {
  private final case class Waiting(statement: WeakReference[AnyRef], plan: LogicalPlan)

  private val waiting = new ThreadLocal[Waiting]

  /** Return the plan; if the plan is the computed name that a statement waits for, return that statement with the name. */
  def completed(plan: LogicalPlan): LogicalPlan = plan match {
    case _: UnresolvedTable | _: UnresolvedTableOrView | _: UnresolvedView | _: UnresolvedIdentifier | _: UnresolvedNamespace =>
      Option(waiting.get).filter(_.statement.get eq statement).fold(plan)(_.plan.transform { case Pending() => plan })
    case _ =>
      if (plan.exists(Pending.unapply)) waiting.set(Waiting(new WeakReference(statement), plan))
      plan
  }

  /** Return the relation cache, an object that Spark keeps for one statement and no other. */
  private def statement: AnyRef = AnalysisContext.get.relationCache

  private object Pending {
    def unapply(plan: LogicalPlan): Boolean = plan.isInstanceOf[PlanWithUnresolvedIdentifier]
  }
}
