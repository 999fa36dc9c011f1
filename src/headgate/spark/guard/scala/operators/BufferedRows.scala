package io.headgate.guard.operators

import io.headgate.guard.expressions.{Growth, Sizes}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.joins.{CartesianProductExec, SortMergeJoinExec}
import org.apache.spark.sql.execution.window.WindowExec

/**
 * Counts the rows of operators that keep some thousand rows in memory, whatever the size of each, before they write them to
 * disk.
 */
object BufferedRows extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = plan => plan.transformUp {
    case window: WindowExec => window.copy(child = counted(window.child))
    case join: SortMergeJoinExec => join.copy(left = counted(join.left), right = counted(join.right))
    case product: CartesianProductExec => product.copy(right = counted(product.right))
  }

  private def counted(rows: SparkPlan): SparkPlan = rows match {
    case done: CountedRows => done
    case other => CountedRows(other)
  }
}

/** Rows that the operator above may keep. */
final case class CountedRows(child: SparkPlan) extends PassedRows {
  override protected def withNewChildInternal(changed: SparkPlan): CountedRows = copy(child = changed)

  override protected def doExecute(): RDD[InternalRow] = child.execute().mapPartitions { rows =>
    val growth = new Growth
    rows.map { row =>
      growth.add(Sizes.of(row))
      row
    }
  }
}
