package io.headgate.guard

import org.apache.spark.{TaskContext, TaskKilledException}

/** Where a loop that Spark does not interrupt asks whether it is to end. */
object Interruption {
  /** Throws if the task on this thread was killed, or this thread interrupted. */
  def check(): Unit = {
    checkTask()
    if (Thread.currentThread.isInterrupted) end()
  }

  /** Throws if the task on this thread was killed, or it works on an operation of a user and was interrupted. Called for each node of a plan. */
  def checkNode(): Unit = {
    checkTask()
    if (Thread.currentThread.isInterrupted && DriverThreads.own.isDefined) end()
  }

  private def checkTask(): Unit = {
    val task = TaskContext.get()
    if (task != null && task.isInterrupted()) throw new TaskKilledException("interrupted within one row")
  }

  private def end(): Unit = throw new LimitExceeded("the statement was interrupted", LimitExceeded.Ended)
}
