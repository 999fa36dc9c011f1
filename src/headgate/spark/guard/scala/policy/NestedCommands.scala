package io.headgate.guard.policy

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Commands nested in a query. Spark runs such a command as a statement of its own while it plans the query around it. No client
 * needs this, and the effects of the command hide what the query has read.
 */
object NestedCommands {
  /** Throw `AccessDenied` if a command is anywhere except in the place of a whole statement. */
  def refuse(plan: LogicalPlan): Unit = plan match {
    case UnresolvedWith(statement, _, _) => refuse(statement)
    case WithCTE(statement, _) => refuse(statement)
    case Union(statements, _, _) if statements.forall(acts) => statements.foreach(refuse) // FROM t INSERT INTO a INSERT INTO b
    case _ => plan.children.foreach(inside)
  }

  /** Check the nodes below without recursion: `PlanLimits` bounds the depth of a plan, not this check. */
  private def inside(plan: LogicalPlan): Unit = {
    val open = mutable.Stack(plan)
    while (open.nonEmpty) {
      val part = open.pop()
      if (acts(part)) Refusal.because("the query contains a command, such as `SHOW` or `CREATE`, which Spark would run while it plans the query; run the command as a statement of its own")
      open.pushAll(part.children)
    }
  }

  private def acts(plan: LogicalPlan): Boolean = plan match {
    case _: Command | _: ParsedStatement => true
    case _ => false
  }
}
