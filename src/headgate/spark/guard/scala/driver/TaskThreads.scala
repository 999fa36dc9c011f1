package io.headgate.guard.driver

import java.lang.management.ManagementFactory

/** The threads of this process on which tasks run. On a cluster there are none. */
private[guard] object TaskThreads {
  private val Named = "Executor task launch worker for task .* \\(TID (\\d+)\\)".r
  private val Depth = 40
  private val Patience = 1000L
  private val threads = ManagementFactory.getThreadMXBean

  /** Return the ids of the threads, by the ids of their tasks. */
  def of(tasks: Set[Long]): Map[Long, Long] =
    if (tasks.isEmpty) Map.empty
    else
      threads.getThreadInfo(threads.getAllThreadIds).filter(_ != null).flatMap { info =>
        Option(info.getThreadName).collect { case Named(id) if tasks(id.toLong) => id.toLong -> info.getThreadId }
      }.toMap

  /**
   * Print the stack traces of these tasks for a bug report. It takes one second at most, because the JVM may have to wait for
   * the tasks.
   */
  def report(tasks: Set[Long]): Unit = {
    val report = new Thread(() => stacks(tasks).foreach(System.err.println), "headgate-stuck-tasks")
    report.setDaemon(true)
    report.start()
    report.join(Patience)
  }

  private def stacks(tasks: Set[Long]): Seq[String] =
    of(tasks).toSeq.sorted.map { case (task, thread) =>
      val frames = Option(threads.getThreadInfo(thread, Depth)).fold(Array.empty[StackTraceElement])(_.getStackTrace)
      frames.mkString(s"headgate: the task $task was cancelled and still runs at ", "\n    ", "")
    }
}
