package io.headgate.guard.scheduling

import scala.collection.concurrent.TrieMap

import io.headgate.guard.driver.OperationId
import org.apache.spark.SparkDisk
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.scheduler._

/**
 * The bytes that statements and streams have written to disks: shuffles, rows that did not fit in memory, and tables. They are
 * counted from the scheduler's events, which the workload must receive first.
 */
final class DiskUse(workload: Workload) extends SparkListener {
  private final case class Written(stage: Int, operation: String, bytes: Long)

  private val running = TrieMap.empty[Long, Written]
  private val ended = TrieMap.empty[String, Long]
  private val shuffled = TrieMap.empty[String, Long]
  private val shuffles = TrieMap.empty[String, Set[Int]]

  /**
   * Return the bytes on disks of the shuffles that operations which have ended have written since the heap was last collected.
   */
  def left(isUnderWay: String => Boolean): Long =
    shuffled.collect { case (operation, bytes) if !isUnderWay(operation) => math.max(bytes, DiskUse.Block) }.sum

  /**
   * Remove the records of operations that have ended, and of their shuffles that Spark has removed. Streams continue between
   * their batches.
   */
  def forget(isUnderWay: String => Boolean): Unit = {
    ended.filterInPlace((operation, _) => isUnderWay(operation))
    shuffles.filterInPlace((operation, written) => isUnderWay(operation) || written.exists(SparkDisk.isKept))
    shuffled.filterInPlace((operation, _) => isUnderWay(operation) || OperationId.isStream(operation) || shuffles.contains(operation))
  }

  /** Record that the heap was collected, after which Spark removes the shuffles that nothing can read. */
  def collected(isUnderWay: String => Boolean): Unit = shuffled.filterInPlace((operation, _) => isUnderWay(operation))

  /** Remove the shuffles that operations which have ended still keep, and return whether there were any. */
  def remove(isUnderWay: String => Boolean): Boolean = {
    val removed = shuffles.keys.toSeq.filterNot(isUnderWay).flatMap(shuffles.remove).flatten.filter(SparkDisk.isKept)
    removed.foreach(SparkDisk.remove)
    removed.nonEmpty
  }

  /** Return the running operation that has written the most, and its bytes. */
  def largest(isUnderWay: String => Boolean): Option[(String, Long)] = {
    val tasks = running.values.filter(task => isUnderWay(task.operation)).map(task => task.operation -> task.bytes)
    (ended.toSeq ++ tasks).groupMapReduce(_._1)(_._2)(_ + _).maxByOption(_._2)
  }

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit =
    for (operation <- OperationId.named(event.properties) if !OperationId.isStream(operation); shuffle <- SparkDisk.shuffle(event.stageInfo))
      shuffles(operation) = shuffles.getOrElse(operation, Set.empty) + shuffle

  override def onStageCompleted(event: SparkListenerStageCompleted): Unit =
    running.filterInPlace((_, task) => task.stage != event.stageInfo.stageId)

  override def onExecutorMetricsUpdate(event: SparkListenerExecutorMetricsUpdate): Unit = event.accumUpdates.foreach { case (task, stage, _, updates) =>
    val bytes = updates.collect { case update if update.name.exists(DiskUse.Names) => update.update.collect { case bytes: Long => bytes }.getOrElse(0L) }.sum
    workload.operation(stage).foreach(operation => running(task) = Written(stage, operation, bytes))
  }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit = {
    running.remove(event.taskInfo.taskId)
    for (operation <- workload.operation(event.stageId); metrics <- Option(event.taskMetrics)) {
      ended(operation) = ended.getOrElse(operation, 0L) + bytes(metrics)
      val written = metrics.shuffleWriteMetrics.bytesWritten
      if (written > 0) shuffled(operation) = shuffled.getOrElse(operation, 0L) + written
    }
  }

  private def bytes(metrics: TaskMetrics): Long =
    metrics.shuffleWriteMetrics.bytesWritten + metrics.diskBytesSpilled + metrics.outputMetrics.bytesWritten
}

private[guard] object DiskUse {
  /** Least bytes that a file takes on a disk. */
  private val Block = 4096L

  /** The metrics in `bytes`, as Spark reports them of a running task. */
  private val Names = Set("shuffle.write.bytesWritten", "diskBytesSpilled", "output.bytesWritten").map("internal.metrics." + _)
}
