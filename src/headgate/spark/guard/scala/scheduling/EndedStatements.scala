package io.headgate.guard.scheduling

import java.util.concurrent.ConcurrentHashMap

import io.headgate.guard.driver.DriverThreads
import org.apache.spark.SparkContext

/** Statements that a limit of the operator has ended, and why; their clients hear the reason in place of Spark's error. */
object EndedStatements {
  private val Kept = 10000
  private val reasons = new ConcurrentHashMap[String, String]

  /** Why the operation was ended, if a limit ended it. */
  def reason(operation: String): Option[String] = Option(reasons.get(operation))

  /** Ends the work: its jobs, and the thread that plans it. */
  def end(spark: SparkContext, operation: Option[String], jobs: Seq[Int], reason: String): Unit = {
    if (operation.forall(remember(_, reason)))
      System.err.println(s"headgate: ended ${operation.getOrElse(s"the jobs ${jobs.mkString(", ")}")}: $reason")
    jobs.foreach(spark.cancelJob(_, reason))
    operation.foreach(DriverThreads.interrupt)
  }

  /** Returns whether this is news. */
  private def remember(operation: String, reason: String): Boolean = {
    if (reasons.size > Kept) reasons.clear()
    reasons.put(operation, reason) != reason
  }
}
