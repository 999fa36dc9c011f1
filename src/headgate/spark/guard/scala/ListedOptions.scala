package io.headgate.guard

import java.util.Locale

import scala.util.Try

/** Options that may be given: each line of the list has what they are given to, an option, and perhaps the largest number. */
final class ListedOptions(list: String) {
  private val listed: Map[(String, String), Option[Long]] = Lists.lines(list).map(_.split("\\s+").toSeq).map {
    case Seq(user, key) => (user, key) -> None
    case Seq(user, key, most) => (user, key) -> Some(most.toLong)
    case line => throw new IllegalStateException(s"`$line` in $list.txt is not of its form")
  }.toMap

  /** Refuses an option that is not listed for this user of options, and a number that is larger than the list says. */
  def check(user: String, described: String, options: Map[String, String]): Unit = options.foreach { case (key, value) =>
    val most = listed.getOrElse((user, key.toLowerCase(Locale.ROOT)), Refuse.because(s"option `$key` of $described is not among those Headgate allows"))
    most.foreach(most => if (!Try(value.trim.toLong).toOption.exists(each => each <= most)) Refuse.because(s"option `$key` must be a number of at most $most"))
  }
}
