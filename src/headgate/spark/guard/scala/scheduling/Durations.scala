package io.headgate.guard.scheduling

import scala.collection.mutable

/** For how long things have been there, by what each look has found; times are milliseconds. */
final class Durations[A] {
  private val since = mutable.Map.empty[A, Long]

  /** Takes note of all that is there now. */
  def note(present: Set[A], now: Long): Unit = {
    since.filterInPlace((each, _) => present(each))
    present.foreach(since.getOrElseUpdate(_, now))
  }

  /** What has been there for longer than that, the oldest first. */
  def longerThan(duration: Long, now: Long): Seq[A] = since.toSeq.filter(now - _._2 > duration).sortBy(_._2).map(_._1)
}
