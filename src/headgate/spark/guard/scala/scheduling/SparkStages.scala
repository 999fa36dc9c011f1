package org.apache.spark.scheduler

import scala.collection.mutable

import org.apache.spark.rdd.RDD
import org.apache.spark.{MapOutputTrackerMaster, ShuffleDependency, SparkContext, SparkEnv}

/**
 * The stages and jobs of Spark's scheduler. The file is in this package because both are private to it.
 */
object SparkStages {
  /** Return the number of tasks that Spark would create before those of the rows: of each stage that they need and that has not been computed. */
  def earlierTasks(rows: RDD[_]): Long = {
    val shuffles = mutable.Set.empty[Int]
    val visited = mutable.Set.empty[Int]
    val open = mutable.Stack[RDD[_]](rows)
    var sum = 0L
    while (open.nonEmpty) {
      val next = open.pop()
      if (visited.add(next.id)) next.dependencies.foreach {
        case shuffle: ShuffleDependency[_, _, _] if shuffles.add(shuffle.shuffleId) && !isComputed(shuffle) =>
          sum += shuffle.rdd.partitions.length
          open.push(shuffle.rdd)
        case _: ShuffleDependency[_, _, _] =>
        case narrow => open.push(narrow.rdd)
      }
    }
    sum
  }

  /** Whether no job runs. */
  def areIdle: Boolean = SparkContext.getOrCreate().dagScheduler.activeJobs.isEmpty

  private def isComputed(shuffle: ShuffleDependency[_, _, _]): Boolean = SparkEnv.get.mapOutputTracker match {
    case master: MapOutputTrackerMaster =>
      master.containsShuffle(shuffle.shuffleId) && master.getNumAvailableOutputs(shuffle.shuffleId) == shuffle.rdd.partitions.length
    case _ => false
  }
}
