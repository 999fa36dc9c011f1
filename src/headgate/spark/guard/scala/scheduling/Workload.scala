package io.headgate.guard.scheduling

import java.util.Properties

import scala.collection.concurrent.TrieMap

import io.headgate.guard.driver.OperationId
import org.apache.spark.scheduler._
import org.apache.spark.sql.execution.SQLExecution

/**
 * The work of one statement or stream on the executors. `operation` is its id outside of the driver, `owner` its scheduler
 * pool.
 */
final case class Work(owner: String, operation: Option[String], job: Int)

/** A task of a stage that holds a slot. */
final case class HeldSlot(task: Long, stage: Int, work: Work, since: Long)

/** A principal that has tasks to run and none running. */
final case class WaitingOwner(owner: String, since: Long)

/** The tasks that hold the slots of this Spark, and the principals that wait for one, from the scheduler's events. */
final class Workload(now: () => Long = () => System.currentTimeMillis()) extends SparkListener {
  private final class Stage(val id: Int, val begun: Work, val submitted: Long, tasks: Int) {
    @volatile var unstarted: Int = tasks
  }

  private final case class Job(work: Work, execution: Option[Long], stages: Set[Int])

  private val stages = TrieMap.empty[Int, Stage]
  private val running = TrieMap.empty[Long, HeldSlot]
  private val jobs = TrieMap.empty[Int, Job]
  private val served = TrieMap.empty[String, Long]
  private val cores = TrieMap.empty[String, Int]

  /** Return the number of tasks that can run at once. */
  def slots: Int = cores.values.sum

  def held: Seq[HeldSlot] = running.values.map(slot => slot.copy(work = workOf(slot.stage, slot.work))).toSeq

  /** Return the jobs of a piece of work that have not ended. */
  def jobs(work: Work): Seq[Int] =
    work.operation.fold(Seq(work.job))(name => jobs.collect { case (id, job) if job.work.operation.contains(name) => id }.toSeq)

  /** Return the operation of a running stage. */
  def operation(stage: Int): Option[String] = stages.get(stage).flatMap(each => workOf(stage, each.begun).operation)

  /** Return the operations of running jobs and tasks. */
  def operations: Set[String] = (jobs.values.map(_.work) ++ held.map(_.work)).flatMap(_.operation).toSet

  /** Return the running jobs that belong to no stream, and to no operation for which `isAttended` holds. */
  def unattended(isAttended: String => Boolean): Set[Int] = running(job => !job.work.operation.exists(isUnderWay(isAttended)))

  /**
   * Return the running jobs whose rows no statement reads: their SQL execution has ended, or they are part of none and their
   * operation has ended. Spark ends an execution as soon as one side of a join is known to be empty, and lets the jobs of the
   * other side run.
   */
  def unread(isAttended: String => Boolean): Set[Int] = running { job =>
    job.execution.fold(job.work.operation.exists(!isUnderWay(isAttended)(_)))(SQLExecution.getQueryExecution(_) == null)
  }

  private def isUnderWay(isAttended: String => Boolean)(operation: String): Boolean = OperationId.isStream(operation) || isAttended(operation)

  private def running(isMeant: Job => Boolean): Set[Int] = jobs.collect { case (id, job) if isMeant(job) => id }.toSet

  def waiting: Seq[WaitingOwner] = {
    val served = held.map(_.work.owner).toSet
    stages.values.filter(_.unstarted > 0).groupBy(stage => workOf(stage.id, stage.begun).owner).collect {
      case (owner, all) if !served(owner) => WaitingOwner(owner, waitsSince(owner, all.map(_.submitted).min))
    }.toSeq
  }

  private def waitsSince(owner: String, submitted: Long): Long = math.max(submitted, served.getOrElse(owner, 0L))

  override def onJobStart(event: SparkListenerJobStart): Unit =
    jobs(event.jobId) = Job(work(event.properties, event.jobId), OperationId.execution(event.properties), event.stageIds.toSet)

  override def onJobEnd(event: SparkListenerJobEnd): Unit = jobs.remove(event.jobId)

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit = {
    val id = event.stageInfo.stageId
    stages(id) = new Stage(id, workOf(id, work(event.properties, -1)), now(), event.stageInfo.numTasks)
  }

  override def onStageCompleted(event: SparkListenerStageCompleted): Unit = stages.remove(event.stageInfo.stageId)

  override def onTaskStart(event: SparkListenerTaskStart): Unit = stages.get(event.stageId).foreach { stage =>
    stage.unstarted -= 1
    running(event.taskInfo.taskId) = HeldSlot(event.taskInfo.taskId, stage.id, workOf(stage.id, stage.begun), event.taskInfo.launchTime)
  }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit =
    running.remove(event.taskInfo.taskId).foreach(held => served(held.work.owner) = now())

  override def onExecutorAdded(event: SparkListenerExecutorAdded): Unit =
    cores(event.executorId) = event.executorInfo.totalCores

  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit = {
    cores.remove(event.executorId)
    running.filterInPlace((_, held) => stages.contains(held.stage) || jobs.contains(held.work.job))
  }

  private def work(properties: Properties, job: Int): Work = Work(OperationId.owner(properties), OperationId.named(properties), job)

  /**
   * Return the work that a stage runs for: the oldest job that needs it. Spark continues a stage for other jobs after the first
   * has ended.
   */
  private def workOf(stage: Int, begun: Work): Work =
    jobs.values.collect { case job if job.stages(stage) => job.work }.minByOption(_.job).getOrElse(begun)
}
