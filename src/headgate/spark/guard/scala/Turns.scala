package io.headgate.guard

import java.util.concurrent.{ConcurrentHashMap, Semaphore}

/** How many plans of one user the driver analyzes at once: analysis holds a processor that no scheduler takes away. */
object Turns {
  private val AtOnce = 2
  private val turns = new ConcurrentHashMap[String, Semaphore]

  /** Runs `work` once fewer than two of this user's are running. */
  def take(user: String)(work: => Unit): Unit = {
    val turn = turns.computeIfAbsent(user, _ => new Semaphore(AtOnce, true))
    turn.acquire()
    try work
    finally turn.release()
  }
}
