package io.headgate.guard

import scala.collection.concurrent.TrieMap

import org.apache.spark.scheduler._
import org.apache.spark.sql.execution.SQLExecution

/** The work of one statement or stream on the executors. `operation` is its name outside, `owner` the pool it is in. */
final case class Work(owner: String, operation: Option[String], job: Int)

/** A task that holds a slot. */
final case class HeldSlot(task: Long, work: Work, since: Long)

/** A principal that has tasks to run and none running. */
final case class WaitingOwner(owner: String, since: Long)

/** What holds the slots of this Spark, and who waits for one; kept from what the scheduler reports. */
final class Workload(now: () => Long = () => System.currentTimeMillis()) extends SparkListener {
  private final class Stage(val work: Work, val submitted: Long, tasks: Int) {
    @volatile var unstarted: Int = tasks
  }

  private val stages = TrieMap.empty[Int, Stage]
  private val running = TrieMap.empty[Long, HeldSlot]
  private val jobs = TrieMap.empty[Int, Work]
  private val executions = TrieMap.empty[Int, Long]
  private val served = TrieMap.empty[String, Long]
  private val cores = TrieMap.empty[String, Int]

  /** How many tasks can run at once. */
  def slots: Int = cores.values.sum

  def held: Seq[HeldSlot] = running.values.toSeq

  /** The jobs of a piece of work that have not ended. */
  def jobs(work: Work): Seq[Int] =
    work.operation.fold(Seq(work.job))(name => jobs.collect { case (job, other) if other.operation.contains(name) => job }.toSeq)

  /** The operation of a stage that is under way. */
  def operation(stage: Int): Option[String] = stages.get(stage).flatMap(_.work.operation)

  /** Running jobs of no stream, and of no operation that is attended to. */
  def unattended(isAttended: String => Boolean): Set[Int] =
    jobs.collect { case (job, work) if !work.operation.exists(name => Operation.isStream(name) || isAttended(name)) => job }.toSet

  /**
   * Running jobs of executions of SQL that have ended: no statement reads their rows. Spark ends an execution as soon as one side of a
   * join is known to be empty, and lets the jobs of the other side run.
   */
  def unread: Set[Int] = executions.collect { case (job, execution) if SQLExecution.getQueryExecution(execution) == null => job }.toSet

  def waiting: Seq[WaitingOwner] = {
    val served = held.map(_.work.owner).toSet
    stages.values.filter(_.unstarted > 0).groupBy(_.work.owner).collect {
      case (owner, all) if !served(owner) => WaitingOwner(owner, waitsSince(owner, all.map(_.submitted).min))
    }.toSeq
  }

  private def waitsSince(owner: String, submitted: Long): Long = math.max(submitted, served.getOrElse(owner, 0L))

  override def onJobStart(event: SparkListenerJobStart): Unit = {
    jobs(event.jobId) = Work(Operation.owner(event.properties), Operation.named(event.properties), event.jobId)
    Operation.execution(event.properties).foreach(executions(event.jobId) = _)
  }

  override def onJobEnd(event: SparkListenerJobEnd): Unit = {
    jobs.remove(event.jobId)
    executions.remove(event.jobId)
  }

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit = {
    val work = Work(Operation.owner(event.properties), Operation.named(event.properties), jobOf(event))
    stages(event.stageInfo.stageId) = new Stage(work, now(), event.stageInfo.numTasks)
  }

  override def onStageCompleted(event: SparkListenerStageCompleted): Unit = stages.remove(event.stageInfo.stageId)

  override def onTaskStart(event: SparkListenerTaskStart): Unit = stages.get(event.stageId).foreach { stage =>
    stage.unstarted -= 1
    running(event.taskInfo.taskId) = HeldSlot(event.taskInfo.taskId, stage.work, event.taskInfo.launchTime)
  }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit =
    running.remove(event.taskInfo.taskId).foreach(held => served(held.work.owner) = now())

  override def onExecutorAdded(event: SparkListenerExecutorAdded): Unit =
    cores(event.executorId) = event.executorInfo.totalCores

  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit = {
    cores.remove(event.executorId)
    running.filterInPlace((_, held) => stages.contains(held.work.job) || jobs.contains(held.work.job))
  }

  private def jobOf(event: SparkListenerStageSubmitted): Int =
    jobs.collect { case (job, work) if work.operation == Operation.named(event.properties) => job }.maxOption.getOrElse(-1)
}
