package io.headgate.guard.limits

import io.headgate.guard.driver.DriverThreads
import org.apache.spark.{TaskContext, TaskKilledException}

/** Interruption checks for loops that Spark does not interrupt. */
object Interruption {
  private val Initializer = "<clinit>"

  /** Throw if the task on this thread was killed, or this thread interrupted. */
  def check(): Unit = {
    if (isTaskKilled) endTask()
    if (Thread.currentThread.isInterrupted) end()
  }

  /**
   * Throw if the task on this thread was killed, or if this thread works on an operation of a user and was interrupted. Called
   * for each node of a plan, also by classes of Spark that are being loaded: one that fails then could not be used again.
   */
  def checkNode(): Unit =
    if (isTaskKilled && !isLoading) endTask()
    else if (Thread.currentThread.isInterrupted && DriverThreads.own.isDefined && !isLoading) end()

  private def isTaskKilled: Boolean = {
    val task = TaskContext.get()
    task != null && task.isInterrupted()
  }

  private def isLoading: Boolean =
    StackWalker.getInstance.walk[Boolean](_.anyMatch(_.getMethodName == Initializer))

  private def endTask(): Unit = throw new TaskKilledException("the task was killed, because its statement was cancelled; run the statement again if you did not cancel it")

  private def end(): Unit = throw new LimitExceeded("the statement was cancelled while Spark planned or ran it; run it again if you did not cancel it", LimitExceeded.Ended)
}
