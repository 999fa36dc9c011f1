package io.headgate.guard

import java.lang.management.ManagementFactory

import scala.collection.mutable

/**
 * How long tasks have taken their slots. A task of this process that has no processor, as the machine is busy with something else or
 * was suspended, takes nothing from other tasks; so its processor time counts, and a part of the time for which it waits for a database.
 */
private final class SlotTime {
  private final case class Begun(thread: Long, nanoseconds: Long)

  private val threads = ManagementFactory.getThreadMXBean
  private val begun = mutable.Map.empty[Long, Begun]

  /** Takes note of the processor time that threads had used before they began with their tasks: they are used again. */
  def note(held: Seq[HeldSlot]): Unit = {
    val present = held.map(_.task).toSet
    begun.filterInPlace((task, _) => present(task))
    for ((task, thread) <- TaskThreads.of(present -- begun.keySet)) begun(task) = Begun(thread, threads.getThreadCpuTime(thread))
  }

  /** For how many milliseconds a task has taken its slot. For one of another machine only the clock tells. */
  def taken(now: Long)(slot: HeldSlot): Long = {
    val elapsed = now - slot.since
    begun.get(slot.task).fold(elapsed) { task =>
      math.max((threads.getThreadCpuTime(task.thread) - task.nanoseconds) / 1000000, elapsed / SlotTime.Waiting)
    }
  }
}

private object SlotTime {
  /** A task that waits takes its slot for one millisecond in so many. */
  private val Waiting = 3
}
