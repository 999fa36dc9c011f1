package io.headgate.guard.streams

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.command.StreamingExplainCommand
import org.apache.spark.sql.execution.datasources.v2.LeafV2CommandExec
import org.apache.spark.unsafe.types.UTF8String

/** Plans the EXPLAIN of a streaming query without the folders of the driver in which the query keeps its state. */
final class StreamExplain(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case explain: StreamingExplainCommand => Seq(StreamExplainExec(session, explain))
    case _ => Nil
  }
}

final case class StreamExplainExec(of: SparkSession, explain: StreamingExplainCommand) extends LeafV2CommandExec {
  override def output: Seq[Attribute] = explain.output

  override protected def run(): Seq[InternalRow] =
    explain.run(of).map(row => InternalRow(UTF8String.fromString(StreamExplainExec.Folder.replaceAllIn(row.getString(0), "checkpoint = <hidden>"))))
}

private object StreamExplainExec {
  private val Folder = raw"checkpoint = [^,\]\n]*".r
}
