package io.headgate.guard.driver

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import io.headgate.guard.limits.PlanParts

/** The driver's threads by the ids of the operations that they work on: statements, and calls that only analyze. */
object DriverThreads {
  private val Named = "SparkConnectExecuteThread_opId=(.+)".r
  private val analyses = new ConcurrentHashMap[String, Thread]
  private val id = new ThreadLocal[String]

  def all: Map[String, Thread] = {
    val threads = new Array[Thread](Thread.activeCount() * 2 + 64)
    val group = Iterator.iterate(Thread.currentThread.getThreadGroup)(_.getParent).takeWhile(_ != null).toSeq.last
    val count = group.enumerate(threads)
    threads.take(count).flatMap(thread => statement(thread).map(_ -> thread)).toMap ++ analyses.asScala
  }

  def isRunning(operation: String): Boolean = all.contains(operation)

  /** Return the operation of this thread. */
  def own: Option[String] = Option(id.get).orElse(statement(Thread.currentThread))

  /** Return the statement of this thread. */
  def ownStatement: Option[String] = statement(Thread.currentThread)

  /** Do the work of an analysis on this thread, which works for other callers afterwards. */
  def analyze(operation: String)(work: => Unit): Unit = {
    analyses.put(operation, Thread.currentThread)
    id.set(operation)
    OperationId.nameAnalysis(Some(operation))
    PlanParts.begin()
    try work
    finally {
      id.remove()
      OperationId.nameAnalysis(None)
      synchronized {
        analyses.remove(operation)
        Thread.interrupted()
      }
    }
  }

  def interrupt(operation: String): Unit = synchronized(all.get(operation).foreach(_.interrupt()))

  private def statement(thread: Thread): Option[String] = thread.getName match {
    case Named(id) => Some(id)
    case _ => None
  }
}
