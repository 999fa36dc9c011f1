package io.headgate.guard.rules

import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.RetainedRelations
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD, SparkPlan, SparkStrategy}

/**
 * Decides on the use of a checkpoint again when it is planned. A checkpoint that is used unchanged has been analyzed already,
 * so no rule of the analysis sees it again. The strategy plans nothing itself.
 */
final class RetainedRowsStrategy(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case rows: LogicalRDD => RetainedRelations.of(rows.rdd).foreach(StatementContext.again(session, _, plan.nodeName))
      case rows: ExternalRDD[_] => RetainedRelations.of(rows.rdd).foreach(StatementContext.again(session, _, plan.nodeName))
      case _ =>
    }
    Nil
  }
}
