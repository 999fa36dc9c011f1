package io.headgate.guard.scheduling

import java.lang.management.ManagementFactory

import scala.collection.mutable

import io.headgate.guard.driver.TaskThreads

/**
 * How long tasks have taken their slots. A task of this process that has no processor, as the machine is busy with something else or
 * was suspended, takes nothing from other tasks; so its processor time counts, and a part of the time for which it waits for a database.
 */
private final class SlotTime {
  private final case class Begun(thread: Long, nanoseconds: Long, seen: Long)

  private val threads = ManagementFactory.getThreadMXBean
  private val begun = mutable.Map.empty[Long, Begun]
  private var looked = 0L

  /** Takes note of the processor time that threads had used before they began with their tasks, as they are used again, and of the time that has passed. */
  def note(held: Seq[HeldSlot], now: Long): Unit = {
    val present = held.map(_.task).toSet
    begun.filterInPlace((task, _) => present(task))
    val passed = math.max(0, math.min(now - looked, SlotTime.Longest))
    begun.mapValuesInPlace((_, task) => task.copy(seen = task.seen + passed))
    looked = now
    for ((task, thread) <- TaskThreads.of(present -- begun.keySet)) begun(task) = Begun(thread, threads.getThreadCpuTime(thread), 0)
  }

  /** For how many milliseconds a task has taken its slot. For one of another machine only the clock tells. */
  def taken(now: Long)(slot: HeldSlot): Long = begun.get(slot.task).fold(now - slot.since) { task =>
    math.max((threads.getThreadCpuTime(task.thread) - task.nanoseconds) / 1000000, task.seen / SlotTime.Waiting)
  }
}

private object SlotTime {
  /** A task that waits takes its slot for one millisecond in so many. */
  private val Waiting = 3

  /** Milliseconds between two looks, at most: what is beyond them passed while this process did not run. */
  private val Longest = 500L
}
