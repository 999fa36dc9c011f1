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
 * Bounds what one task holds of a result. Spark bounds the whole of a result in the driver, but only by what its tasks
 * have sent, and a task sends its part at its end.
 */
object BoundedResults extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = {
    case done @ (_: Exchange | _: BoundedResult | _: LocalTableScanExec | _: CommandResultExec) => done
    case command @ (_: V2CommandExec | _: ExecutedCommandExec | _: DataWritingCommandExec) => command
    case rows => BoundedResult(rows)
  }
}

/** Rows that may be a result; where they are written or cached, they pass uncounted. */
final case class BoundedResult(child: SparkPlan) extends PassedRows {
  override protected def withNewChildInternal(changed: SparkPlan): BoundedResult = copy(child = changed)

  override protected def doExecute(): RDD[InternalRow] =
    if (BoundedResult.isCollected) {
      val most = sparkContext.getConf.getSizeAsBytes("spark.driver.maxResultSize") / BoundedResult.TasksAtOnce
      val why = s"the result is larger than ${most >> 20} MiB; ask for less of it, or write it to a table"
      child.execute().mapPartitions(Sizes.bounded(_, most, why))
    } else child.execute()
}

object BoundedResult {
  /** So many tasks hold a part of a result each, while as much of it waits in the driver. */
  private val TasksAtOnce = 2

  /** Where Spark begins to collect rows in the driver. */
  private val Collecting = Set("processAsArrowBatches", "getByteArrayRdd")

  /** Where Spark begins to fill a cache, which it may do while it collects what reads the cache. */
  private val Caching = "buildBuffers"

  private def isCollected: Boolean = StackWalker.getInstance.walk[Boolean] { frames =>
    frames.map[String](_.getMethodName).filter(name => name == Caching || Collecting(name)).findFirst.filter(Collecting(_)).isPresent
  }
}
