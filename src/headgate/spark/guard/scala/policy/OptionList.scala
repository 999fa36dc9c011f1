package io.headgate.guard.policy

import java.util.Locale

import scala.util.Try

/** Options that may be given: each line has one, and perhaps the smallest and the largest number that it may be (`1..16`). */
final class OptionList(lines: Seq[String]) {
  import OptionList._

  private val ranges: Map[String, Option[Range]] = lines.map(_.split("\\s+").toSeq).map {
    case Seq(key) => key -> None
    case Seq(key, Written(least, most)) => key -> Some(Range(least.toLong, most.toLong))
    case line => throw new IllegalStateException(s"`${line.mkString(" ")}` in a list of options is not of its form")
  }.toMap

  /** Refuses an option that is not listed, and a number out of its range. `described` says to the user what they are options of. */
  def check(described: String, options: Map[String, String]): Unit = options.foreach { case (key, value) =>
    val range = ranges.getOrElse(key.toLowerCase(Locale.ROOT), Refusal.because(s"option `$key` of $described is not among those Headgate allows"))
    range.filterNot(_.has(value)).foreach { range =>
      Refusal.because(s"option `$key` of $described must be a whole number from ${range.least} to ${range.most}")
    }
  }
}

object OptionList {
  private final case class Range(least: Long, most: Long) {
    def has(value: String): Boolean = Try(value.trim.toLong).toOption.exists(number => least <= number && number <= most)
  }

  private val Written = "(-?\\d+)\\.\\.(\\d+)".r

  def of(lists: String*): OptionList = new OptionList(lists.flatMap(AllowLists.lines))

  /** One list for each first word of the lines: what the options are given to. */
  def byUser(list: String): Map[String, OptionList] =
    AllowLists.lines(list).map(_.split("\\s+", 2)).groupMap(_.head)(_.last).map { case (user, lines) => user -> new OptionList(lines) }.withDefaultValue(new OptionList(Nil))
}
