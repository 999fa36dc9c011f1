package io.headgate.guard.memory

import io.headgate.guard.driver.{OperationId, ReceivedRequests}
import io.headgate.guard.scheduling.EndedStatements
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.FetchedResults
import org.apache.spark.sql.connect.service.UnreadResults

/**
 * Limits the memory of results in the driver: those that tasks have sent, and those that clients have not read. Spark limits
 * the result of one statement, and makes all of it whether or not its client reads.
 */
object ResultMemory {
  /** The share of one principal is as large as the limit of one statement. */
  private val share = new HeapShare(4, 3)

  /** Bytes by which a result grows between two checks; smaller results pass. */
  private val Step = 1L << 20

  /** Count the result of a task before the driver fetches it, and end its statement if there is no memory for it. */
  def fetch(stage: AnyRef, bytes: Long): Unit = {
    val sent = FetchedResults.add(stage, bytes)
    if (sent.bytes / Step > (sent.bytes - bytes) / Step)
      for (operation <- OperationId.named(sent.properties); request <- ReceivedRequests.of(operation) if EndedStatements.reason(operation).isEmpty)
        fault(request.principal).foreach(EndedStatements.end(SparkContext.getOrCreate(), Some(operation), Seq(sent.job), _))
  }

  private def fault(principal: String): Option[String] =
    share.fault(principal, held.toSeq.flatMap { case (operation, bytes) => ReceivedRequests.of(operation).map(_.principal -> bytes) })(
      s"the results of your statements that your clients have not read take more than ${share.mebibytes} MiB; read them first, select fewer rows, or write them to tables",
      "this Spark has no memory for more results; run the statement again when other clients have read their results, or write the result to a table")

  /** Return the bytes of results by operation. A result that Spark has made from results of tasks is not counted twice. */
  private def held: Map[String, Long] = {
    val unread = UnreadResults.all
    val sent = FetchedResults.all.flatMap(each => OperationId.named(each.properties).map(_ -> each.bytes)).groupMapReduce(_._1)(_._2)(_ + _)
    (unread.keySet ++ sent.keySet).map { operation =>
      val result = unread.getOrElse(operation, UnreadResults.Result(0, 0))
      operation -> (result.kept + math.max(0, sent.getOrElse(operation, 0L) - result.made))
    }.toMap
  }
}
