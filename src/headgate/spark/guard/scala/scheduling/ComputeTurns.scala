package io.headgate.guard.scheduling

import java.util.concurrent.ConcurrentHashMap
import java.util.{Collections, WeakHashMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.headgate.guard.driver.ReceivedRequests
import io.headgate.guard.limits.{Interruption, LimitExceeded}

/**
 * Turns of the threads of one principal that compute in the driver, where no scheduler takes a processor away from them:
 * parsing, analysis, optimization, constants. At most `AtOnce` of them run at once; the others wait at their next step. A
 * thread that waits for tasks or for a response does not count.
 */
private[guard] final class ComputeTurns {
  /**
   * References are weak, so that threads that have ended are removed: the thread of a statement refers to its request and its
   * session.
   */
  private val begun = Collections.newSetFromMap(new WeakHashMap[Thread, java.lang.Boolean]).asScala
  private val waiting = mutable.Queue.empty[Thread]

  /**
   * Wait for the turn of this thread, and begin it. Throw `LimitExceeded` if the wait is too long, or the statement is
   * interrupted.
   */
  def await(): Unit = synchronized {
    val own = Thread.currentThread
    val longest = System.nanoTime + ComputeTurns.LongestWait * 1000000
    begun -= own
    waiting.enqueue(own)
    try while (!isNext(own)) pause(longest)
    finally waiting -= own
    begun += own
  }

  /** End the turn: this thread no longer works for the principal. */
  def end(): Unit = synchronized(begun -= Thread.currentThread)

  private def isNext(thread: Thread): Boolean =
    (waiting.head eq thread) && begun.count(ComputeTurns.isComputing) < ComputeTurns.AtOnce

  private def pause(longest: Long): Unit = {
    Interruption.check()
    if (System.nanoTime > longest) ComputeTurns.refuse()
    try wait(ComputeTurns.Pause)
    catch { case _: InterruptedException => Thread.currentThread.interrupt() }
  }
}

object ComputeTurns {
  private val AtOnce = math.max(2, Runtime.getRuntime.availableProcessors)

  /** Milliseconds between two checks of the threads: no event shows when one of them begins to wait. */
  private val Pause = 10L

  /** Most milliseconds that a thread waits for its turn. */
  private val LongestWait = 60000L
  private val principals = new ConcurrentHashMap[String, ComputeTurns]

  /** The threads that wait for another process: Java reports a thread that reads from a socket as running. */
  private val remote = ConcurrentHashMap.newKeySet[Thread]

  /** Do all of `work` in a turn of this user's principal. */
  def take(user: String)(work: => Unit): Unit = {
    val turns = of(ReceivedRequests.principal(user))
    turns.await()
    try work
    finally turns.end()
  }

  /** Wait for the response of another process, which does not count as computing. */
  def waitFor[T](response: => T): T = {
    remote.add(Thread.currentThread)
    try response
    finally remote.remove(Thread.currentThread)
  }

  private def isComputing(thread: Thread): Boolean = thread.getState == Thread.State.RUNNABLE && !remote.contains(thread)

  /** Wait for the turn of the statement that this thread works on, if it is the thread of a statement. */
  def await(): Unit = ReceivedRequests.own.foreach { case (_, request) => of(request.principal).await() }

  private def refuse(): Nothing = throw new LimitExceeded(
    s"Spark has been planning $AtOnce of your statements for ${LongestWait / 1000} s, as many as it plans at once for one user; interrupt them, or run this statement again when they have finished",
    LimitExceeded.Ended)

  private def of(principal: String): ComputeTurns = principals.computeIfAbsent(principal, _ => new ComputeTurns)
}
