package io.headgate.guard.scheduling

import java.util.concurrent.ConcurrentHashMap

import io.headgate.guard.driver.DriverThreads
import org.apache.spark.SparkContext

/**
 * Statements that a limit of the operator has ended, with the reasons, which their clients receive in the place of Spark's
 * error.
 */
object EndedStatements {
  private val Kept = 10000
  private val reasons = new ConcurrentHashMap[String, String]

  /** Return the reason for which a limit ended the operation, if one did. */
  def reason(operation: String): Option[String] = Option(reasons.get(operation))

  /** End the operation: its jobs, and the thread that plans it. */
  def end(spark: SparkContext, operation: Option[String], jobs: Seq[Int], reason: String): Unit = {
    if (operation.forall(remember(_, reason)))
      System.err.println(operation.fold(s"headgate: cancelled the jobs ${jobs.mkString(", ")}: $reason")(id => s"headgate: cancelled the operation $id: $reason"))
    jobs.foreach(spark.cancelJob(_, reason))
    operation.foreach(DriverThreads.interrupt)
  }

  /** Record the reason, and return whether it is new. */
  private def remember(operation: String, reason: String): Boolean = {
    if (reasons.size > Kept) reasons.clear()
    reasons.put(operation, reason) != reason
  }
}
