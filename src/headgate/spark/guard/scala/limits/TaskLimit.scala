package io.headgate.guard.limits

import org.apache.spark.rdd.{RDD, UnionRDD}

/** Limit of the tasks that one job of a statement may have. */
object TaskLimit {
  private val Most = 100000L

  /** Throw `LimitExceeded` if there are too many partitions in a union or a product. */
  def require(rows: RDD[_]): Unit = require(number(rows))

  /** Throw `LimitExceeded` if there are too many tasks. */
  def require(tasks: Long): Unit = if (tasks > Most)
    throw new LimitExceeded(s"the statement makes more than $Most tasks at once; use fewer partitions, or join on equal columns")

  private def number(rows: RDD[_]): Long = {
    val numbers = rows.dependencies.map(_.rdd.partitions.length.toLong)
    if (rows.isInstanceOf[UnionRDD[_]]) numbers.sum else numbers.product
  }
}
