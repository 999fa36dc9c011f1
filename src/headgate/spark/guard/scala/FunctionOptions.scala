package io.headgate.guard

import java.util.Locale

import scala.util.Try

/** Options of the functions that read and write CSV, JSON and XML text: by list, because some open files or load classes. */
object FunctionOptions {
  private final case class Entry(most: Option[Long])

  private val listed: Map[(String, String), Entry] = Lists.lines("function-options").map(_.split("\\s+").toSeq).map {
    case Seq(format, key) => (format, key) -> Entry(None)
    case Seq(format, key, most) => (format, key) -> Entry(Some(most.toLong))
    case line => throw new IllegalStateException(s"`$line` in function-options.txt is not of its form")
  }.toMap

  /** Refuses an option that is not on the format's list, and a number that is larger than the list says. */
  def check(format: String, options: Map[String, String]): Unit = options.foreach { case (key, value) =>
    val entry = listed.getOrElse((format, key.toLowerCase(Locale.ROOT)), Refuse.because(s"option `$key` of $format functions is not among those Headgate allows"))
    entry.most.foreach(most => if (!Try(value.trim.toLong).toOption.exists(each => each <= most)) Refuse.because(s"option `$key` must be a number of at most $most"))
  }
}
