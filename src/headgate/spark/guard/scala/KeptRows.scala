package io.headgate.guard

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan, SparkStrategy}

/**
 * A checkpoint that is used as it is has been analyzed already, so no moment of analysis sees it again. It is
 * asked for where it is planned; it plans nothing itself.
 */
final class KeptRows(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case rows: LogicalRDD => Kept.of(rows).foreach(Statement.again(session, _, plan.nodeName))
      case _ =>
    }
    Nil
  }
}
