package io.headgate.guard.rules

import io.headgate.guard.client.StatementContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{CurrentUser, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE

/**
 * Replaces `current_user()` by the name of the session's principal; Spark would return the operating-system user of the driver.
 */
final class CurrentPrincipal(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformAllExpressionsWithPruning(_.containsPattern(CURRENT_LIKE)) {
      case _: CurrentUser => Literal(StatementContext.principal(session))
    }
}
