package io.headgate.guard.instrumentation

import scala.reflect.ClassTag

import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel
import org.apache.xbean.asm9.MethodVisitor

/**
 * Keeps the rows that a clustering of `spark.ml` pairs with numbers computed from the same rows. Otherwise one task would read
 * the rows twice at the same time, and Spark closes the first reader of a table when a task opens a second one: the first one
 * would go on in memory that is no longer its own.
 */
final class PairedRows extends ClassChange(Set("KMeans", "BisectingKMeans").map("org.apache.spark.mllib.clustering." + _)) {
  import PairedRows._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != Run) inner
    else ClassChange.atCalls(inner) { (call, stays) =>
      if (call.owner == Rows && call.method == "zip") ClassChange.call(inner, "instrumentation/PairedRows", "zip", s"(L$Rows;${call.kind.drop(1)}")
      else stays()
    }
}

object PairedRows {
  private val Run = "runWithWeight"
  private val Rows = "org/apache/spark/rdd/RDD"

  /** `RDD.zip`, on rows that Spark keeps until it collects the garbage of the fit. */
  def zip(rows: RDD[Any], numbers: RDD[Any], of: ClassTag[Any]): RDD[(Any, Any)] = {
    if (rows.getStorageLevel == StorageLevel.NONE) rows.persist(StorageLevel.MEMORY_AND_DISK)
    rows.zip(numbers)(of)
  }
}
