package io.headgate.guard.scheduling

import java.lang.management.ManagementFactory

import scala.collection.mutable

import io.headgate.guard.driver.TaskThreads

/**
 * The time for which tasks have used their slots. A task of this process without a processor, because the machine is busy or
 * was suspended, takes nothing from other tasks. So the processor time of a task counts, and a part of the time for which it
 * waits for a database.
 */
private final class SlotTime {
  private final case class Begun(thread: Long, nanoseconds: Long, seen: Long)

  private val threads = ManagementFactory.getThreadMXBean
  private val begun = mutable.Map.empty[Long, Begun]
  private var looked = 0L

  /**
   * Record the time that has passed, and the processor time that threads had used before their tasks began, because threads are
   * used again.
   */
  def note(held: Seq[HeldSlot], now: Long): Unit = {
    val present = held.map(_.task).toSet
    begun.filterInPlace((task, _) => present(task))
    val passed = math.max(0, math.min(now - looked, SlotTime.Longest))
    begun.mapValuesInPlace((_, task) => task.copy(seen = task.seen + passed))
    looked = now
    for ((task, thread) <- TaskThreads.of(present -- begun.keySet)) begun(task) = Begun(thread, threads.getThreadCpuTime(thread), 0)
  }

  /** Return the milliseconds for which a task has used its slot. For a task of another machine only the clock is known. */
  def taken(now: Long)(slot: HeldSlot): Long = begun.get(slot.task).fold(now - slot.since) { task =>
    math.max((threads.getThreadCpuTime(task.thread) - task.nanoseconds) / 1000000, task.seen / SlotTime.Waiting)
  }
}

private object SlotTime {
  /** A waiting task uses its slot for one out of this number of milliseconds. */
  private val Waiting = 3

  /** Most milliseconds between two observations: any further time passed while this process did not run. */
  private val Longest = 500L
}
