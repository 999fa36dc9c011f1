package io.headgate.guard

import scala.collection.mutable

/** Bounds how many streams are active: each has threads until its user stops it. */
object ActiveStreams {
  private val PerPrincipal = 64
  private val Overall = 256

  /** Nanoseconds in which a start that has no room waits: a stream counts twice while its start ends. */
  private val Patience = 1000000000L
  private val Pause = 50L

  /** The principal of each operation that may be about to start a stream. */
  private val starting = mutable.Map.empty[String, String]

  /** Throws `LimitExceeded` if the principal of this request cannot start another stream. */
  def requireRoom(): Unit = Requests.own.foreach { case (operation, request) =>
    val deadline = System.nanoTime + Patience
    var fault = reserve(operation, request.principal)
    while (fault.isDefined && System.nanoTime < deadline) {
      Thread.sleep(Pause)
      fault = reserve(operation, request.principal)
    }
    fault.foreach(message => throw new LimitExceeded(message))
  }

  /** Counts a start from now on, or returns why there is no room for it. */
  private def reserve(operation: String, principal: String): Option[String] = synchronized {
    val running = DriverThreads.all
    starting.filterInPlace((other, _) => other != operation && running.contains(other))
    val fault = full(principal, active ++ starting.values)
    if (fault.isEmpty) starting(operation) = principal
    fault
  }

  private def full(principal: String, streams: Seq[String]): Option[String] =
    if (streams.count(_ == principal) >= PerPrincipal)
      Some(s"$PerPrincipal streams of yours are active; stop one of them, and start this one again")
    else
      Option.when(streams.size >= Overall)(
        s"$Overall streams of all users are active in your organization's Spark; start this one again when others have ended")

  /** The principal of each active stream. */
  private def active: Seq[String] =
    SessionMemory.sessions.flatMap { case (principal, session) => Seq.fill(session.streams.active.length)(principal) }
}
