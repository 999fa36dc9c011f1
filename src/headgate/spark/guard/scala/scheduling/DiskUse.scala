package io.headgate.guard.scheduling

import scala.collection.concurrent.TrieMap

import io.headgate.guard.driver.OperationId
import org.apache.spark.SparkDisk
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.scheduler._

/** How much statements and streams have written to disks: shuffles, what did not fit in memory, and tables. Kept from what the scheduler reports, to the workload first. */
final class DiskUse(workload: Workload) extends SparkListener {
  private final case class Written(stage: Int, operation: String, bytes: Long)

  private val running = TrieMap.empty[Long, Written]
  private val ended = TrieMap.empty[String, Long]
  private val shuffled = TrieMap.empty[String, Long]
  private val shuffles = TrieMap.empty[String, Set[Int]]

  /** How many bytes on disks the shuffles take that operations that have ended have written since the heap was collected. */
  def left(isUnderWay: String => Boolean): Long =
    shuffled.collect { case (operation, bytes) if !isUnderWay(operation) => math.max(bytes, DiskUse.Block) }.sum

  /** Forgets what operations that have ended wrote, and their shuffles that Spark has removed. Streams go on between their batches. */
  def forget(isUnderWay: String => Boolean): Unit = {
    ended.filterInPlace((operation, _) => isUnderWay(operation))
    shuffles.filterInPlace((operation, written) => isUnderWay(operation) || written.exists(SparkDisk.isKept))
    shuffled.filterInPlace((operation, _) => isUnderWay(operation) || OperationId.isStream(operation) || shuffles.contains(operation))
  }

  /** Takes note that the heap is collected: Spark removes the shuffles that nothing can read. */
  def collected(isUnderWay: String => Boolean): Unit = shuffled.filterInPlace((operation, _) => isUnderWay(operation))

  /** Removes the shuffles that operations that have ended still keep, and returns whether there were any. */
  def remove(isUnderWay: String => Boolean): Boolean = {
    val removed = shuffles.keys.toSeq.filterNot(isUnderWay).flatMap(shuffles.remove).flatten.filter(SparkDisk.isKept)
    removed.foreach(SparkDisk.remove)
    removed.nonEmpty
  }

  /** The operation that has written the most, and how many bytes, of those that are under way. */
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
  /** What a file takes on a disk at least, in bytes. */
  private val Block = 4096L

  /** As `bytes`, where Spark reports them of a task that goes on. */
  private val Names = Set("shuffle.write.bytesWritten", "diskBytesSpilled", "output.bytesWritten").map("internal.metrics." + _)
}
