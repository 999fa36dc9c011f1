package io.headgate.guard.driver

import java.util.concurrent.ConcurrentHashMap

/** The requests of the statements and analyses that this driver works on, by the ids of these. */
object ReceivedRequests {
  final case class Request(principal: String, session: String, bytes: Long, at: Long)

  /** Above this number of requests, those of ended statements are removed; a statement begins within `Arrival` milliseconds. */
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

  /** Return the request of the operation of this thread, with the id of the operation. */
  def own: Option[(String, Request)] = DriverThreads.own.flatMap(id => of(id).map(id -> _))

  /** Return the request of this operation, which may have ended. */
  def of(operation: String): Option[Request] = Option(requests.get(operation))

  /** Return the key of a Spark Connect session, which includes the user: another user may give a session the same id. */
  def session(user: String, id: String): String = s"$user $id"

  /** Return the principal of a user id, in which the gateway puts the principal and the token. */
  def principal(user: String): String = user.takeWhile(_ != ':')
}
