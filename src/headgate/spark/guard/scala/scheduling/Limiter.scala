package io.headgate.guard.scheduling

import scala.collection.mutable
import scala.util.control.NonFatal

import io.headgate.guard.driver.{DriverThreads, TaskThreads}
import io.headgate.guard.memory.MemoryWatch
import org.apache.spark.SparkContext

/**
 * The limiter, which watches the driver on a thread of its own: fairness between principals, the longest statement, the memory,
 * the disks.
 */
final class Limiter(spark: SparkContext, workload: Workload, disks: DiskWatch) {
  private val longest = Option(System.getProperty(Limiter.StatementSeconds)).fold(0d)(_.toDouble)
  private val operations = new Durations[String]
  private val unattended = new Durations[Int]
  private val unread = new Durations[Int]
  private val ended = mutable.Map.empty[Int, Long]
  private val warned = mutable.Map.empty[String, Long]
  private val memory = new MemoryWatch
  private val slots = new SlotTime

  /** Statements that were ended to free memory and are still running. */
  private val ending = mutable.Set.empty[String]

  def start(): Unit = {
    val thread = new Thread(() => while (true) {
      try look(System.currentTimeMillis())
      catch { case NonFatal(error) => System.err.println(s"headgate: internal error of the limiter of statements, which continues: $error; report it") }
      Thread.sleep(Limiter.Period)
    }, "headgate-limiter")
    thread.setDaemon(true)
    thread.setPriority(Thread.MAX_PRIORITY)
    thread.start()
  }

  private def look(now: Long): Unit = {
    val threads = DriverThreads.all
    keepFair(now)
    endLong(now, threads)
    endUnread(now, threads)
    keepMemory(now, threads)
    disks.look(now, threads.keySet ++ workload.operations, () => memory.collect()).foreach(operation => end(Work("", Some(operation), -1), Limiter.Disk, now))
    haltIfStuck(now)
  }

  private def keepFair(now: Long): Unit = {
    val recent: String => Boolean = owner => warned.get(owner).exists(now - _ < Limiter.Memorable)
    val held = workload.held.filter(slot => !ended.contains(slot.work.job))
    val stuck = workload.held.size - held.size
    slots.note(held, now)
    Fairness.unfair(workload.slots - stuck, held, workload.waiting, now, slots.taken(now), recent).foreach { work =>
      warned(work.owner) = now
      end(work, Limiter.Unfair, now)
    }
  }

  private def endLong(now: Long, threads: Map[String, Thread]): Unit = {
    operations.note(threads.keySet, now)
    unattended.note(workload.unattended(threads.contains), now)
    if (longest > 0) {
      operations.longerThan((longest * 1000).toLong, now).foreach { operation => end(Work("", Some(operation), -1), tooLong, now) }
      endJobs(unattended.longerThan((longest * 1000).toLong, now), tooLong, now)
    }
  }

  /**
   * End jobs whose rows no statement reads. A query of the same cached rows may wait for such a job: it fails when the job
   * ends, and succeeds when it is retried.
   */
  private def endUnread(now: Long, threads: Map[String, Thread]): Unit = {
    unread.note(workload.unread(threads.contains), now)
    endJobs(unread.longerThan(Limiter.Reporting, now), Limiter.Unread, now)
  }

  private def tooLong: String = s"the statement ran for more than $longest s, which the operator does not allow; split it, or ask the operator for a longer time"

  /**
   * End the largest statement if the heap stays full, then two more, then four, each time after the earlier ones had time to
   * release their memory. Halt the driver if all that has not helped.
   */
  private def keepMemory(now: Long, threads: Map[String, Thread]): Unit = {
    memory.sample()
    memory.note(workload.held, threads)
    val gone = ending.filterNot(isThere(_, threads))
    if (gone.nonEmpty) {
      memory.collect() // the memory that they held counts as used until it is collected, and no other statement has to end because of it
      ending --= gone
    } else if (memory.isFull && memory.hasLeft) {
      val held = workload.held.filterNot(_.work.operation.exists(ending))
      val next = memory.largest(held, threads -- ending).take(ending.size + 1)
      ending ++= (if (next.isEmpty) oldest(now) else next)
      ending.foreach(operation => end(Work("", Some(operation), -1), Limiter.Memory, now)) // a statement may have ignored its interrupt
      memory.leave()
    } else if (memory.fullFor > Limiter.Stuck) halt("headgate: the memory of the Spark driver is still full after statements were cancelled; the driver shuts down, and Headgate restarts it")
  }

  /**
   * Return the oldest operation that is not short. If threads of a pool do the work of an operation, no thread of its own has
   * allocated much.
   */
  private def oldest(now: Long): Option[String] = operations.longerThan(Limiter.Short, now).find(!ending(_))

  private def isThere(operation: String, threads: Map[String, Thread]): Boolean =
    threads.contains(operation) || workload.operations(operation)

  private def halt(message: String): Unit = {
    System.err.println(message)
    Runtime.getRuntime.halt(Limiter.Halted)
  }

  private def endJobs(jobs: Seq[Int], reason: String, now: Long): Unit =
    jobs.filterNot(ended.contains).foreach { job => end(Work("", None, job), reason, now) }

  private def end(work: Work, reason: String, now: Long): Unit = {
    val jobs = workload.jobs(work)
    (jobs :+ work.job).foreach(ended.getOrElseUpdate(_, now))
    EndedStatements.end(spark, work.operation, jobs, reason)
  }

  /** Halt the driver if tasks that were ended and still run hold all slots: only a new driver helps. */
  private def haltIfStuck(now: Long): Unit = {
    val stuck = workload.held.filter(slot => ended.get(slot.work.job).exists(now - _ > Limiter.Stuck))
    if (workload.slots > 0 && stuck.size >= workload.slots)
      try TaskThreads.report(stuck.map(_.task).toSet)
      finally halt("headgate: cancelled tasks still use every processor of the Spark driver; Headgate restarts the driver: create a new Spark session and run your statement again")
    ended.filterInPlace((job, since) => now - since < Limiter.Forgotten || workload.held.exists(_.work.job == job))
  }
}

object Limiter {
  val StatementSeconds = "headgate.statement.seconds"
  private val Period = 250L
  private val Memorable = 60000L
  private val Reporting = 1000L // until the scheduler has reported the end of a job
  private val Short = 5000L
  private val Forgotten = 600000L
  private val Stuck = 15000L
  private val Halted = 4
  private val Unfair =
    "the statement held the processors of this Spark for more than 5 s while statements of other users waited; split it into shorter tasks, or run it when Spark is idle"
  private val Unread = "the Spark job was cancelled because the statement that started it has finished; run your query again if it used rows that this job computed, such as those of a cached table"
  private val Disk = "the disk of this Spark is almost full, and the statement has written the most to it; read, sort, join or cache fewer rows at once"
  private val Memory = "this Spark has run out of memory, and the statement used the most; read or cache fewer rows at once"
}
