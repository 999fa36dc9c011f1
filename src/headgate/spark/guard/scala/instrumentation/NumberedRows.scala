package io.headgate.guard.instrumentation

import java.util.concurrent.{ConcurrentHashMap, Semaphore}

import io.headgate.guard.driver.OperationId
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.internal.SQLConf
import org.apache.xbean.asm9.MethodVisitor

/**
 * Limits how Spark numbers rows. It would keep the rows while it counts those of each partition: in memory that no limit counts,
 * and until it collects the garbage of a statement that was cancelled. It counts with jobs of their own, whose tasks are all in
 * the driver's memory.
 */
final class NumberedRows extends ClassChange(Set("org.apache.spark.sql.execution.python.AttachDistributedSequenceExec")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "doExecute") inner
    else ClassChange.atCalls(inner) { (call, stays) =>
      NumberedRows.Replaced.get(call.method).fold(stays())(ClassChange.call(inner, "instrumentation/NumberedRows", _, s"(L${call.owner};${call.kind.drop(1)}"))
    }
}

object NumberedRows {
  /** The functions that take the place of calls. */
  private val Replaced = Map("getConfString" -> "storage", "zipWithIndex" -> "numbered")

  /** Most jobs of one principal that count rows at once. */
  private val Most = 4

  private val permits = new ConcurrentHashMap[Option[String], Semaphore]

  /** Return the name of the storage level, whatever the setting is: the rows are computed twice instead. */
  def storage(settings: SQLConf, key: String, default: String): String = "NONE"

  /** Return the rows with their numbers. */
  def numbered(rows: RDD[_]): RDD[_] = {
    val permit = permits.computeIfAbsent(OperationId.ownerOfThread(rows.sparkContext), _ => new Semaphore(Most))
    permit.acquire()
    try rows.zipWithIndex()
    finally permit.release()
  }
}
