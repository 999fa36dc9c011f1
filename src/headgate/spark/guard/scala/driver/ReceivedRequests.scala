package io.headgate.guard.driver

import java.util.concurrent.ConcurrentHashMap

/** What was sent for the statements and analyses that this driver works on, by the ids of these. */
object ReceivedRequests {
  final case class Request(principal: String, session: String, bytes: Long, at: Long)

  /** Once there are so many, those of ended statements are forgotten; a statement begins within so many milliseconds. */
  private val Kept = 4096
  private val Arrival = 60000L
  private val requests = new ConcurrentHashMap[String, Request]

  def receive(operation: String, user: String, sessionId: String, bytes: Long): Unit = {
    val now = System.currentTimeMillis()
    if (requests.size > Kept) {
      val running = DriverThreads.all
      requests.entrySet.removeIf(each => now - each.getValue.at > Arrival && !running.contains(each.getKey))
    }
    requests.put(operation, Request(principal(user), session(user, sessionId), bytes, now))
  }

  /** The request of the operation of this thread, with its id. */
  def own: Option[(String, Request)] = DriverThreads.own.flatMap(id => of(id).map(id -> _))

  /** The request of this operation, which may have ended. */
  def of(operation: String): Option[Request] = Option(requests.get(operation))

  /** What a session of Spark Connect is known by: another user may give a session the same id. */
  def session(user: String, id: String): String = s"$user $id"

  /** The gateway names a user by principal and token. */
  def principal(user: String): String = user.takeWhile(_ != ':')
}
