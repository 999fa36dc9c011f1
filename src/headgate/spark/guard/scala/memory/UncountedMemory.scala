package io.headgate.guard.memory

import java.lang.management.{ManagementFactory, MemoryPoolMXBean}
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import io.headgate.guard.limits.{Interruption, LimitExceeded}
import org.apache.spark.SparkMemory

/**
 * The part of the heap that all tasks together may take for objects that Spark does not count: states of aggregates that are
 * objects, and rows that windows and joins keep.
 */
object UncountedMemory {
  private val GrantShare = 4
  private val SmallestGrant = 1L << 20
  private val UsableShare = 0.95
  private val SessionsShare = 8

  /** The pool of objects that have survived some collections. */
  val old: Option[MemoryPoolMXBean] = ManagementFactory.getMemoryPoolMXBeans.asScala.find(_.getName.contains("Old Gen"))

  /** Bytes by which the sum may grow before the heap is checked again. */
  private val granted = new AtomicLong

  /** Throw `LimitExceeded` if the heap has no room for this number of bytes more. */
  def grow(bytes: Long): Unit = {
    Interruption.check()
    if (granted.addAndGet(-bytes) < 0) grantMore()
  }

  private def grantMore(): Unit = synchronized {
    if (granted.get < 0) {
      if (!Heap.makesRoom(left > 0))
        throw new LimitExceeded(
          "an aggregate, a window or a join keeps more rows at once than this Spark has memory for; group, partition or join by columns with more distinct values, or read fewer rows")
      granted.set(math.max(left / GrantShare, SmallestGrant))
    }
  }

  /**
   * Return the bytes that are left. Memory that Spark counts itself can be written to disk. The rest counts twice, because a
   * state makes its larger table before it releases the smaller one. Sessions and their plans do not grow like that; an eighth
   * of the heap is kept for them.
   */
  private def left: Long = old.map(_.getUsage).fold(Long.MaxValue) { usage =>
    val growing = usage.getUsed - SparkMemory.used - Runtime.getRuntime.maxMemory / SessionsShare
    (UsableShare * usage.getMax).toLong - usage.getUsed - math.max(growing, 0L)
  }
}
