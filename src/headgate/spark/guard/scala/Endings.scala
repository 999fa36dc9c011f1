package io.headgate.guard

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.SparkContext

/** Statements that a limit of the operator has ended, and why; their clients hear the reason in place of Spark's error. */
object Endings {
  private val Kept = 10000
  private val reasons = new ConcurrentHashMap[String, String]

  /** Why the operation was ended, if a limit ended it. */
  def reason(operation: String): Option[String] = Option(reasons.get(operation))

  /** Ends the work: its jobs, and the thread that plans it. */
  def end(spark: SparkContext, operation: Option[String], jobs: Seq[Int], reason: String): Unit = {
    operation.foreach(remember(_, reason))
    System.err.println(s"headgate: ended ${operation.getOrElse(s"the jobs ${jobs.mkString(", ")}")}: $reason")
    jobs.foreach(spark.cancelJob(_, reason))
    operation.flatMap(DriverThreads.of).foreach(_.interrupt())
  }

  private def remember(operation: String, reason: String): Unit = {
    if (reasons.size > Kept) reasons.clear()
    reasons.put(operation, reason)
  }
}

/** The threads on which Spark Connect plans and follows operations. */
object DriverThreads {
  private val Named = "SparkConnectExecuteThread_opId=(.+)".r

  /** Every such thread by the id of its operation. */
  def all: Map[String, Thread] = {
    val threads = new Array[Thread](Thread.activeCount() * 2 + 64)
    val group = Iterator.iterate(Thread.currentThread.getThreadGroup)(_.getParent).takeWhile(_ != null).toSeq.last
    val count = group.enumerate(threads)
    threads.take(count).flatMap(thread => operation(thread).map(_ -> thread)).toMap
  }

  def of(operation: String): Option[Thread] = all.get(operation)

  /** The operation of this thread, if this is one of them. */
  def own: Option[String] = operation(Thread.currentThread)

  private def operation(thread: Thread): Option[String] = thread.getName match {
    case Named(id) => Some(id)
    case _ => None
  }
}
