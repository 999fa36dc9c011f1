package io.headgate.guard.scheduling

import java.util.{Properties, UUID}

import scala.collection.mutable

import io.headgate.guard.driver.{DriverThreads, OperationId}
import io.headgate.guard.limits.{LimitExceeded, TaskLimit}
import org.apache.spark.rdd.RDD
import org.apache.spark.ShuffleDependency
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobEnd, SparkListenerJobStart, SparkStages}

/**
 * Turns of jobs with many tasks: Spark creates all tasks of all jobs at once in the driver's memory. A job of a principal waits
 * while the principal's other jobs have too many.
 */
object TaskTurns extends SparkListener {
  private final case class Turn(owner: String, tasks: Long, since: Long)

  /** Most tasks of all jobs of one principal: one for each 26 KB of the heap. A job that has more waits until the principal has no other. */
  private val Most = math.max(40000L, Runtime.getRuntime.maxMemory / 26000)

  /** Milliseconds between two looks whether the job may begin. */
  private val Look = 200L

  /** Spark has not started a job after this time in milliseconds only if it cannot create its stages. */
  private val Unstarted = 60000L

  private val Key = "headgate.turn"
  private val Ended = "the Spark job was not started because its statement has finished; run your query again if you need its rows"
  private val waiting = mutable.Map.empty[String, Turn]
  private val started = mutable.Map.empty[Int, Turn]

  /** Wait for the turn of a job that computes these partitions. Throw `LimitExceeded` if it has too many tasks, or its statement ends first. */
  def take(rows: RDD[_], partitions: Seq[Int], properties: Properties): Unit = waitFor(partitions.size + SparkStages.earlierTasks(rows), properties)

  /** Wait for the turn of a job that computes the rows of a shuffle. */
  def takeShuffle(shuffle: ShuffleDependency[_, _, _], properties: Properties): Unit =
    waitFor(shuffle.rdd.partitions.length + SparkStages.earlierTasks(shuffle.rdd), properties)

  private def waitFor(tasks: Long, properties: Properties): Unit = if (properties != null) {
    val (owner, operation) = (OperationId.owner(properties), OperationId.named(properties))
    TaskLimit.require(tasks)
    val id = UUID.randomUUID.toString
    while (!begin(id, owner, tasks)) {
      if (!operation.forall(isWanted)) throw new LimitExceeded(Ended, LimitExceeded.Ended)
      Thread.sleep(Look)
    }
    properties.setProperty(Key, id)
  }

  override def onJobStart(event: SparkListenerJobStart): Unit = synchronized {
    for (properties <- Option(event.properties); id <- Option(properties.getProperty(Key)); turn <- waiting.remove(id)) started(event.jobId) = turn
  }

  override def onJobEnd(event: SparkListenerJobEnd): Unit = synchronized(started.remove(event.jobId))

  /** Record the job, unless the other jobs of its principal have too many tasks. */
  private def begin(id: String, owner: String, tasks: Long): Boolean = synchronized {
    val now = System.currentTimeMillis()
    waiting.filterInPlace((_, each) => now - each.since < Unstarted)
    // Spark drops events if it has too many, so the end of a job may be missing here.
    if (SparkStages.areIdle) started.clear()
    val others = (waiting.values ++ started.values).filter(_.owner == owner).map(_.tasks).sum
    val may = others == 0 || others + tasks <= Most
    if (may) waiting(id) = Turn(owner, tasks, now)
    may
  }

  private def isWanted(operation: String): Boolean = OperationId.isStream(operation) || DriverThreads.isRunning(operation)
}
