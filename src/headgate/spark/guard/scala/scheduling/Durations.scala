package io.headgate.guard.scheduling

import scala.collection.mutable

/** The time for which things have been present, by regular observations; times are milliseconds. */
final class Durations[A] {
  private val since = mutable.Map.empty[A, Long]

  /** Record all things that are present now. */
  def note(present: Set[A], now: Long): Unit = {
    since.filterInPlace((each, _) => present(each))
    present.foreach(since.getOrElseUpdate(_, now))
  }

  /** Return the things that have been present for longer than `duration`, the oldest first. */
  def longerThan(duration: Long, now: Long): Seq[A] = since.toSeq.filter(now - _._2 > duration).sortBy(_._2).map(_._1)
}
