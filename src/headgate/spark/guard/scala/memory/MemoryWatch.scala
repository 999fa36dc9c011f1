package io.headgate.guard.memory

import java.lang.management.{ManagementFactory, MemoryUsage}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.headgate.guard.driver.TaskThreads
import io.headgate.guard.scheduling.HeldSlot

/** Whether the heap is full and collecting it takes most of the time, and which operation fills it. */
private[guard] final class MemoryWatch {
  private val Full = 0.9
  private val Half = 0.5
  private val Overhead = 0.5
  private val Window = 3000L

  /** Milliseconds until ended statements have released their memory; how many of them must pass without a collection. */
  private val Leaving = 2000L
  private val Working = 250L
  private val Much = Runtime.getRuntime.maxMemory / 16
  private val threads = ManagementFactory.getThreadMXBean.asInstanceOf[com.sun.management.ThreadMXBean]
  private val samples = mutable.Queue.empty[Sample]
  private var fullSince = Option.empty[Long]
  private var leaving = Option.empty[Sample]
  private var leftOut = Sample(0, 0)

  private final case class Sample(at: Long, collecting: Long) {
    def -(other: Sample): Sample = Sample(at - other.at, collecting - other.collecting)
    def +(other: Sample): Sample = Sample(at + other.at, collecting + other.collecting)
  }
  private final case class ThreadWork(thread: Long, operation: String, task: Long)

  private val before = mutable.Map.empty[ThreadWork, Long]

  /** Record the time that collections have taken. */
  def sample(): Unit = {
    samples.enqueue(present - leftOut)
    while (samples.size > 1 && samples(1).at <= samples.last.at - Window) samples.dequeue() // keep the sample that a late one is compared with
    fullSince = if (isFull) fullSince.orElse(Some(samples.last.at)) else None
  }

  /** Collect the heap. The time of this collection does not count as a sign of a full heap. */
  def collect(): Unit = {
    val before = present
    System.gc()
    leftOut += present - before
  }

  /** Return the time of the monotonic clock, and the time that collections had taken by then, in milliseconds. */
  private def present: Sample =
    Sample(System.nanoTime / 1000000, ManagementFactory.getGarbageCollectorMXBeans.asScala.map(_.getCollectionTime).sum)

  /** Record that ended statements begin to release their memory. */
  def leave(): Unit = leaving = samples.lastOption

  /** Whether ended statements had time to release their memory, without a collection that held them up. */
  def hasLeft: Boolean = leaving.forall { begun =>
    val since = samples.last - begun
    since.at > Leaving && since.at - since.collecting > Working
  }

  /** Return the milliseconds for which each sample has found the heap full. */
  def fullFor: Long = fullSince.fold(0L)(samples.last.at - _)

  /**
   * Whether the heap is full and collecting it takes most of the time. A heap that is full of objects of idle sessions is no
   * problem by itself.
   */
  def isFull: Boolean =
    (overhead > Overhead || isLate) && UncountedMemory.old.exists(pool => isOver(pool.getCollectionUsage, Full) && isOver(pool.getUsage, Full))

  /**
   * Whether the last sample is late: the thread that takes samples allocates, and waits for the collections as every statement
   * does.
   */
  private def isLate: Boolean = samples.size > 1 && samples.last.at - samples(samples.size - 2).at > Window

  private def isOver(usage: MemoryUsage, part: Double): Boolean =
    usage != null && usage.getMax > 0 && usage.getUsed > part * usage.getMax

  private def overhead: Double = {
    val (first, last) = (samples.head, samples.last)
    if (last.at - first.at < Window / 2) 0 else (last.collecting - first.collecting).toDouble / (last.at - first.at)
  }

  /**
   * Return the operations whose threads have allocated much since the heap was last half empty, the largest first. There may be
   * none: the heap may be full of objects that no running statement holds.
   */
  def largest(held: Seq[HeldSlot], connect: Map[String, Thread]): Seq[String] =
    allocated(held, connect).groupMapReduce(_._1)(_._2)(_ + _).filter(_._2 > Much).toSeq.sortBy(-_._2).map(_._1)

  /**
   * Record the bytes that threads had allocated before their present work began, because threads are used again; or while the
   * heap was half empty.
   */
  def note(held: Seq[HeldSlot], connect: Map[String, Thread]): Unit = {
    val present = working(held, connect)
    if (UncountedMemory.old.exists(pool => !isOver(pool.getUsage, Half))) before.clear()
    before.filterInPlace((work, _) => present.contains(work))
    present.foreach(work => before.getOrElseUpdate(work, threads.getThreadAllocatedBytes(work.thread)))
  }

  private def allocated(held: Seq[HeldSlot], connect: Map[String, Thread]): Seq[(String, Long)] =
    working(held, connect).toSeq.map { work =>
      work.operation -> (threads.getThreadAllocatedBytes(work.thread) - before.getOrElse(work, 0L))
    }

  private def working(held: Seq[HeldSlot], connect: Map[String, Thread]): Set[ThreadWork] = {
    val tasks = held.flatMap(slot => slot.work.operation.map(slot.task -> _)).toMap
    val ofTasks = TaskThreads.of(tasks.keySet).map { case (task, thread) => ThreadWork(thread, tasks(task), task) }
    ofTasks.toSet ++ connect.map { case (operation, thread) => ThreadWork(thread.getId, operation, 0) }
  }
}
