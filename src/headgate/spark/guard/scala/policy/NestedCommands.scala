package io.headgate.guard.policy

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Commands that stand inside a query. Spark runs them while it plans the query around them, as statements of their own;
 * no client needs that, and what they do hides what the query has read.
 */
object NestedCommands {
  /** Throws `AccessDenied` if a command stands anywhere but where a whole statement does. */
  def refuse(plan: LogicalPlan): Unit = plan match {
    case UnresolvedWith(statement, _, _) => refuse(statement)
    case WithCTE(statement, _) => refuse(statement)
    case Union(statements, _, _) if statements.forall(acts) => statements.foreach(refuse) // FROM t INSERT INTO a INSERT INTO b
    case _ => plan.children.foreach(inside)
  }

  /** Without recursion: how deep a plan may be is for others to say. */
  private def inside(plan: LogicalPlan): Unit = {
    val open = mutable.Stack(plan)
    while (open.nonEmpty) {
      val part = open.pop()
      if (acts(part)) Refusal.because("a command stands inside a query; run it as a statement of its own")
      open.pushAll(part.children)
    }
  }

  private def acts(plan: LogicalPlan): Boolean = plan match {
    case _: Command | _: ParsedStatement => true
    case _ => false
  }
}
