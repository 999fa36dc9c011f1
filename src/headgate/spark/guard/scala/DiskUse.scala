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
  private val jobs = TrieMap.empty[Int, String]
  private val idle = TrieMap.empty[String, Long]

  /**
   * Removes the shuffles of operations that have ended, as Spark does when the heap is collected. Streams go on between their batches.
   * Jobs of an operation may go on after its end: Spark answers as soon as one side of a join is known to be empty. A task that
   * misses the files of a shuffle has Spark give up all that the driver has stored, and no later statement works.
   */
  def clean(now: Long, isUnderWay: String => Boolean): Unit = {
    val atWork = jobs.values.toSet
    val (busy, ended) = shuffles.keys.toSeq.partition(operation => isUnderWay(operation) || atWork(operation))
    busy.foreach(idle.remove)
    for (operation <- ended if now - idle.getOrElseUpdate(operation, now) >= DiskUse.Rest) {
      idle.remove(operation)
      shuffles.remove(operation).foreach(_.foreach(SparkDisk.remove))
    }
  }

  /** The operation that has written the most, and how many bytes, of those that are under way. */
  def largest(isUnderWay: String => Boolean): Option[(String, Long)] = {
    ended.filterInPlace((operation, _) => isUnderWay(operation))
    val tasks = running.values.filter(task => isUnderWay(task.operation)).map(task => task.operation -> task.bytes)
    (ended.toSeq ++ tasks).groupMapReduce(_._1)(_._2)(_ + _).maxByOption(_._2)
  }

  override def onJobStart(event: SparkListenerJobStart): Unit = Operation.named(event.properties).foreach(jobs(event.jobId) = _)

  override def onJobEnd(event: SparkListenerJobEnd): Unit = jobs.remove(event.jobId)

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

object DiskUse {
  /** Milliseconds without a job after which an operation that has ended begins no other one. */
  val Rest = 5000L

  /** As `bytes`, where Spark reports them of a task that goes on. */
  private val Names = Set("shuffle.write.bytesWritten", "diskBytesSpilled", "output.bytesWritten").map("internal.metrics." + _)
}
