package io.headgate.guard

import java.lang.management.ManagementFactory

/** The threads of this process on which tasks run. On a cluster there are none. */
private object TaskThreads {
  private val Named = "Executor task launch worker for task .* \\(TID (\\d+)\\)".r
  private val Depth = 40
  private val threads = ManagementFactory.getThreadMXBean

  /** The ids of the threads, by those of the tasks. */
  def of(tasks: Set[Long]): Map[Long, Long] =
    if (tasks.isEmpty) Map.empty
    else
      threads.getThreadInfo(threads.getAllThreadIds).filter(_ != null).flatMap { info =>
        Option(info.getThreadName).collect { case Named(id) if tasks(id.toLong) => id.toLong -> info.getThreadId }
      }.toMap

  /** Where in the program these tasks are, for a report of a defect. */
  def stacks(tasks: Set[Long]): Seq[String] =
    of(tasks).toSeq.sorted.map { case (task, thread) =>
      val frames = Option(threads.getThreadInfo(thread, Depth)).fold(Array.empty[StackTraceElement])(_.getStackTrace)
      frames.mkString(s"headgate: task $task is at ", "\n    ", "")
    }
}
