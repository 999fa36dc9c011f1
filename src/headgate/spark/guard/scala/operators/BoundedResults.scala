package io.headgate.guard.operators

import io.headgate.guard.expressions.Sizes
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, CommandResultExec, LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.command.{DataWritingCommandExec, ExecutedCommandExec}
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec
import org.apache.spark.sql.execution.exchange.Exchange

/**
 * Limits the part of a result that one task holds. Spark limits the whole result in the driver, but only by the parts that its
 * tasks have sent, and a task sends its part at its end.
 */
object BoundedResults extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = {
    case done @ (_: Exchange | _: BoundedResult | _: LocalTableScanExec | _: CommandResultExec) => done
    case command @ (_: V2CommandExec | _: ExecutedCommandExec | _: DataWritingCommandExec) => command
    case rows => BoundedResult(rows)
  }
}

/** Rows that may be a result; rows that are written or cached pass uncounted. */
final case class BoundedResult(child: SparkPlan) extends PassedRows {
  override protected def withNewChildInternal(changed: SparkPlan): BoundedResult = copy(child = changed)

  override protected def doExecute(): RDD[InternalRow] =
    if (BoundedResult.isCollected) {
      val most = sparkContext.getConf.getSizeAsBytes("spark.driver.maxResultSize") / BoundedResult.TasksAtOnce
      val why = s"the result is larger than ${most >> 20} MiB; select fewer rows or columns, or write the result to a table"
      child.execute().mapPartitions(Sizes.bounded(_, most, why))
    } else child.execute()
}

object BoundedResult {
  /** The number of tasks that hold a part of a result each, while as much of it waits in the driver. */
  private val TasksAtOnce = 2

  /** Methods in which Spark begins to collect rows in the driver. */
  private val Collecting = Set("processAsArrowBatches", "getByteArrayRdd")

  /** The method in which Spark begins to fill a cache, which it may do while it collects rows that read the cache. */
  private val Caching = "buildBuffers"

  private def isCollected: Boolean = StackWalker.getInstance.walk[Boolean] { frames =>
    frames.map[String](_.getMethodName).filter(name => name == Caching || Collecting(name)).findFirst.filter(Collecting(_)).isPresent
  }
}
