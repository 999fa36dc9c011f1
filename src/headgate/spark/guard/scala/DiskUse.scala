package io.headgate.guard

import scala.collection.concurrent.TrieMap

import org.apache.spark.SparkDisk
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.scheduler._

/** How much statements and streams have written to disks: shuffles, what did not fit in memory, and tables. Kept from what the scheduler reports, to the workload first. */
final class DiskUse(workload: Workload) extends SparkListener {
  private final case class Written(stage: Int, operation: String, bytes: Long)

  private val running = TrieMap.empty[Long, Written]
  private val ended = TrieMap.empty[String, Long]
  private val shuffles = TrieMap.empty[String, Set[Int]]

  /** Removes the shuffles of operations that have ended: Spark does so when the heap is collected. Streams go on between their batches. */
  def clean(isUnderWay: String => Boolean): Unit =
    for (operation <- shuffles.keys if !isUnderWay(operation); written <- shuffles.remove(operation)) written.foreach(SparkDisk.remove)

  /** The operation that has written the most, and how many bytes, of those that are under way. */
  def largest(isUnderWay: String => Boolean): Option[(String, Long)] = {
    ended.filterInPlace((operation, _) => isUnderWay(operation))
    val tasks = running.values.filter(task => isUnderWay(task.operation)).map(task => task.operation -> task.bytes)
    (ended.toSeq ++ tasks).groupMapReduce(_._1)(_._2)(_ + _).maxByOption(_._2)
  }

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit =
    for (operation <- Operation.named(event.properties) if !Operation.isStream(operation); shuffle <- SparkDisk.shuffle(event.stageInfo))
      shuffles(operation) = shuffles.getOrElse(operation, Set.empty) + shuffle

  override def onStageCompleted(event: SparkListenerStageCompleted): Unit =
    running.filterInPlace((_, task) => task.stage != event.stageInfo.stageId)

  override def onExecutorMetricsUpdate(event: SparkListenerExecutorMetricsUpdate): Unit = event.accumUpdates.foreach { case (task, stage, _, updates) =>
    val bytes = updates.collect { case update if update.name.exists(DiskUse.Names) => update.update.collect { case bytes: Long => bytes }.getOrElse(0L) }.sum
    workload.operation(stage).foreach(operation => running(task) = Written(stage, operation, bytes))
  }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit = {
    running.remove(event.taskInfo.taskId)
    for (operation <- workload.operation(event.stageId); metrics <- Option(event.taskMetrics))
      ended(operation) = ended.getOrElse(operation, 0L) + bytes(metrics)
  }

  private def bytes(metrics: TaskMetrics): Long =
    metrics.shuffleWriteMetrics.bytesWritten + metrics.diskBytesSpilled + metrics.outputMetrics.bytesWritten
}

private object DiskUse {
  /** As `bytes`, where Spark reports them of a task that goes on. */
  private val Names = Set("shuffle.write.bytesWritten", "diskBytesSpilled", "output.bytesWritten").map("internal.metrics." + _)
}
