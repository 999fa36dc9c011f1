package io.headgate.guard.policy

import java.util.Locale

import scala.util.Try

/** Allowed options: each line has one option, and optionally its smallest and its largest number (`1..16`). */
final class OptionList(lines: Seq[String]) {
  import OptionList._

  private val ranges: Map[String, Option[Range]] = lines.map(_.split("\\s+").toSeq).map {
    case Seq(key) => key -> None
    case Seq(key, Written(least, most)) => key -> Some(Range(least.toLong, most.toLong))
    case line => throw new IllegalStateException(s"a list of options in Headgate's own files is damaged: the line `${line.mkString(" ")}` is neither `option` nor `option smallest..largest`; install Headgate again")
  }.toMap

  /**
   * Refuse an option that is not listed, and a number outside of its range. `described` is the noun of the object that has the
   * options; it is part of the message.
   */
  def check(described: String, options: Map[String, String]): Unit = options.foreach { case (key, value) =>
    val range = ranges.getOrElse(key.toLowerCase(Locale.ROOT), Refusal.because(s"the option `$key` of $described is not allowed; leave it out"))
    range.filterNot(_.has(value)).foreach { range =>
      Refusal.because(s"the option `$key` of $described is out of range; use a whole number from ${range.least} to ${range.most}")
    }
  }
}

object OptionList {
  private final case class Range(least: Long, most: Long) {
    def has(value: String): Boolean = Try(value.trim.toLong).toOption.exists(number => least <= number && number <= most)
  }

  private val Written = "(-?\\d+)\\.\\.(\\d+)".r

  def of(lists: String*): OptionList = new OptionList(lists.flatMap(AllowLists.lines))

  /** Return one list of options for each first word of the lines, which is the format or the procedure that has the options. */
  def byUser(list: String): Map[String, OptionList] =
    AllowLists.lines(list).map(_.split("\\s+", 2)).groupMap(_.head)(_.last).map { case (user, lines) => user -> new OptionList(lines) }.withDefaultValue(new OptionList(Nil))
}
