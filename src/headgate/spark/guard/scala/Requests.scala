package io.headgate.guard

import java.util.concurrent.ConcurrentHashMap

/** What was sent for the statements that this driver works on, by the ids of these. */
object Requests {
  final case class Request(principal: String, bytes: Long, at: Long)

  /** Once there are so many, those of ended statements are forgotten; a statement begins within so many milliseconds. */
  private val Kept = 4096
  private val Arrival = 60000L
  private val requests = new ConcurrentHashMap[String, Request]

  def receive(operation: String, user: String, bytes: Long): Unit = {
    val now = System.currentTimeMillis()
    if (requests.size > Kept) {
      val running = DriverThreads.all
      requests.entrySet.removeIf(each => now - each.getValue.at > Arrival && !running.contains(each.getKey))
    }
    requests.put(operation, Request(principal(user), bytes, now))
  }

  /** The request of the statement of this thread, with its id. */
  def own: Option[(String, Request)] = DriverThreads.ownStatement.flatMap(id => of(id).map(id -> _))

  /** The request of this statement, which may have ended. */
  def of(operation: String): Option[Request] = Option(requests.get(operation))

  /** The gateway names a user by principal and token. */
  def principal(user: String): String = user.takeWhile(_ != ':')
}
