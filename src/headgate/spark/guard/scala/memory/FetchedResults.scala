package org.apache.spark.scheduler

import java.util.Properties

import scala.jdk.CollectionConverters._

import com.google.common.collect.MapMaker

/**
 * The results of tasks that the driver has fetched for running jobs. The file is in this package because Spark's classes are
 * private to it.
 */
object FetchedResults {
  /** The bytes of results that the tasks of a stage have sent. */
  final case class Fetched(job: Int, properties: Properties, bytes: Long)

  private val fetched = new MapMaker().weakKeys().makeMap[TaskSetManager, Fetched]()

  /** Add the result of a task, and return the results of the tasks of its stage. */
  def add(stage: AnyRef, bytes: Long): Fetched = {
    val tasks = stage.asInstanceOf[TaskSetManager]
    val set = tasks.taskSet
    fetched.merge(tasks, Fetched(set.priority, set.properties, bytes), (before, more) => before.copy(bytes = before.bytes + more.bytes))
  }

  def all: Seq[Fetched] = fetched.asScala.collect { case (tasks, sent) if !tasks.isZombie || tasks.runningTasks > 0 => sent }.toSeq
}
