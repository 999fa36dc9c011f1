package io.headgate.guard.memory

import java.lang.management.{ManagementFactory, MemoryPoolMXBean}
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import io.headgate.guard.limits.{Interruption, LimitExceeded}
import org.apache.spark.SparkMemory

/**
 * The part of the heap that all tasks together may take for what Spark does not count: states of aggregates that are
 * objects, and rows that windows and joins keep.
 */
object UncountedMemory {
  private val GrantShare = 4
  private val SmallestGrant = 1L << 20
  private val UsableShare = 0.95
  private val SessionsShare = 8

  /** Where objects lie that have survived some collections. */
  val old: Option[MemoryPoolMXBean] = ManagementFactory.getMemoryPoolMXBeans.asScala.find(_.getName.contains("Old Gen"))

  /** Bytes by which all of it may grow before the heap is looked at again. */
  private val granted = new AtomicLong

  /** Throws `LimitExceeded` if the heap has no room for so many bytes more. */
  def grow(bytes: Long): Unit = {
    Interruption.check()
    if (granted.addAndGet(-bytes) < 0) grantMore()
  }

  private def grantMore(): Unit = synchronized {
    if (granted.get < 0) {
      if (!Heap.makesRoom(left > 0))
        throw new LimitExceeded(
          "an aggregate, a window or a join keeps more rows at once than this Spark has memory for; group by more columns, or read fewer rows")
      granted.set(math.max(left / GrantShare, SmallestGrant))
    }
  }

  /**
   * Bytes that are left. What Spark itself counts it can write to disk; the rest counts twice, because a state makes its
   * larger table before it leaves the smaller one. Sessions and their plans, which do not, have an eighth of the heap.
   */
  private def left: Long = old.map(_.getUsage).fold(Long.MaxValue) { usage =>
    val growing = usage.getUsed - SparkMemory.used - Runtime.getRuntime.maxMemory / SessionsShare
    (UsableShare * usage.getMax).toLong - usage.getUsed - math.max(growing, 0L)
  }
}
