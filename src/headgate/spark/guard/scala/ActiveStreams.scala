package io.headgate.guard

/** Bounds how many streams are active: each has threads until its user stops it. */
object ActiveStreams {
  private val PerPrincipal = 64
  private val Overall = 256

  /** Throws `LimitExceeded` if the principal of this request cannot start another stream. */
  def requireRoom(): Unit = Requests.own.foreach { case (_, request) =>
    val active = SessionMemory.sessions.map { case (principal, session) => principal -> session.streams.active.length }
    if (active.collect { case (request.principal, streams) => streams }.sum >= PerPrincipal)
      throw new LimitExceeded(s"$PerPrincipal streams of yours are active; stop one of them, and start this one again")
    if (active.map(_._2).sum >= Overall)
      throw new LimitExceeded(s"$Overall streams of all users are active in your organization's Spark; start this one again when others have ended")
  }
}
