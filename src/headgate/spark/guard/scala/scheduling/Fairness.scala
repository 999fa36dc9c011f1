package io.headgate.guard.scheduling

/**
 * Selects the statement that must release its slots. A free slot goes to a principal that has none (`FairSlots`), so only long
 * tasks starve others.
 */
object Fairness {
  /** Milliseconds for which a task may hold a slot that another principal waits for. */
  val Patience = 5000L

  /** The same, if its principal has lost a statement for this reason a short time ago. */
  val PatienceAfterwards = 1000L

  /** Milliseconds without a slot after which a principal counts as waiting: between two stages it has none for a moment. */
  val Wait = 1000L

  /**
   * Return the work to end: that of the longest task of the principal that holds the most slots; None while no principal waits.
   */
  def unfair(
      slots: Int,
      held: Seq[HeldSlot],
      waiting: Seq[WaitingOwner],
      now: Long,
      taken: HeldSlot => Long,
      warned: String => Boolean
  ): Option[Work] = {
    val full = slots > 0 && held.size >= slots
    waiting.filter(_ => full).flatMap { waiter =>
      val longest = held.filter(_.work.owner != waiter.owner).filter { slot =>
        val patience = if (warned(slot.work.owner)) PatienceAfterwards else Patience
        now - waiter.since > Wait && taken(slot) > patience
      }
      longest.groupBy(_.work.owner).values.maxByOption(_.size).map(_.minBy(_.since))
    }.minByOption(_.since).map(_.work)
  }
}
