package io.headgate.guard.settings

import scala.util.Try

import io.headgate.guard.policy.{AllowLists, Properties, Refusal}
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.command.{ResetCommand, SetCommand}

/**
 * The configuration keys that SQL may read, set and reset: those of `settings.txt`, and keys of one's own. A key of one's own is a
 * plain word, begins with `my.`, `app.` or `spark.databricks.`, which only another product reads, or is a key that a table could have
 * as its owner's property: Hadoop reads every key of a session, and knows none of these.
 */
object SettingKeys {
  /** The values that a key may have. */
  private sealed trait Values {
    def has(value: String): Boolean

    /** Return why the key cannot have another value, and what to do. */
    def refusal(key: String): String
  }

  private final case class Choices(words: Seq[String]) extends Values {
    override def has(value: String): Boolean = words.exists(_.equalsIgnoreCase(value))

    override def refusal(key: String): String =
      s"the configuration key `$key` cannot have this value here; set ${words.map(word => s"`$word`").mkString(" or ")}"
  }

  private final case class Range(least: Long, most: Long, isSize: Boolean) extends Values {
    override def has(value: String): Boolean = number(value).exists(each => least <= each && each <= most)

    override def refusal(key: String): String = s"the value of the configuration key `$key` is out of range; set a number from $least to $most"

    private def number(value: String): Option[Long] =
      value.trim.toLongOption.orElse(if (isSize) Try(JavaUtils.byteStringAsBytes(value)).toOption else None)
  }

  private val LongestValue = 1000
  private val MostOwn = 100
  private val Bounds = "(\\d+)\\.\\.(\\d+)".r
  /** `SET PATH` is a statement of later Spark versions, which changes how names are resolved. */
  private val Own = "(?!(?i:path)$)[A-Za-z0-9_-]{1,100}|(?:my|app|spark\\.databricks)\\.[A-Za-z0-9_.-]{1,100}".r
  private val Unchangeable = "cannot be changed by users; leave it unchanged, or ask the operator"

  private val settable: Map[String, Option[Values]] = AllowLists.lines("settings").map(_.split("\\s+").toSeq).map {
    case Seq(key) => key -> None
    case Seq(key, Bounds(least, most), unit @ _*) => key -> Some(Range(least.toLong, most.toLong, unit.contains("bytes")))
    case Seq(key, words) => key -> Some(Choices(words.split('|').toSeq))
    case line => throw new IllegalStateException(s"the list of settings in Headgate's own files is damaged at `${line.mkString(" ")}`; install Headgate again")
  }.toMap

  private val readable: Set[String] = AllowLists.of("readable-settings")
  private val readableBeginnings = readable.filter(_.endsWith("*")).map(_.dropRight(1))

  def isOwn(key: String): Boolean = Own.matches(key) || (key.contains('.') && Properties.isOwn(key))

  def isReadable(key: String): Boolean =
    settable.contains(key) || readable(key) || readableBeginnings.exists(key.startsWith) || isOwn(key)

  def isSettable(key: String): Boolean = settable.contains(key) || isOwn(key)

  /** Refuse a SET that reads a hidden key, changes another than a settable one, or sets a value out of its range. */
  def check(session: SparkSession, set: SetCommand): Unit = set.kv match {
    case Some((key, None)) if isReadable(key) =>
    case Some((key, Some(value))) if isSettable(key) =>
      settable.getOrElse(key, None).filterNot(_.has(value)).foreach(values => Refusal.because(values.refusal(key)))
      if (value.length > LongestValue) Refusal.because(s"the value of the configuration key `$key` has more than $LongestValue characters; set a shorter one")
      if (isOwn(key) && own(session, key) > MostOwn) Refusal.because(s"the session has more than $MostOwn configuration keys of its own; begin a new session, or use fewer keys")
    case Some((key, Some(_))) => Refusal.because(s"the configuration key `$key` $Unchangeable")
    case Some((key, None)) => Refusal.because(s"the configuration key `$key` cannot be read by users; ask the operator for its value")
    case None => Refusal.because("`SET` without a key cannot be a part of another statement; run it as a statement of its own")
  }

  def check(reset: ResetCommand): Unit = reset.config match {
    case Some(key) if isSettable(key) =>
    case Some(key) => Refusal.because(s"the configuration key `$key` $Unchangeable")
    case None => Refusal.because("`RESET` without a key cannot be a part of another statement; run it as a statement of its own")
  }

  private def own(session: SparkSession, added: String): Int = (session.conf.getAll.keySet.filter(isOwn) + added).size
}
