package io.headgate.guard

import java.util.regex.{Matcher, Pattern}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.{CollationSupport, StringUtils}
import org.apache.spark.unsafe.types.UTF8String

/** A text that a regular expression reads; reading it asks now and then whether the statement is to end. */
final class WatchedText(text: String) extends CharSequence {
  private var reads = 0

  override def length: Int = text.length
  override def subSequence(start: Int, end: Int): CharSequence = text.subSequence(start, end)
  override def toString: String = text

  override def charAt(index: Int): Char = {
    reads += 1
    if ((reads & WatchedText.Mask) == 0) Interruption.check()
    text.charAt(index)
  }
}

private object WatchedText {
  val Mask = 8191
}

/** Versions of Spark's functions of regular expressions that end when their statement does. */
object Watched {
  /** The version of a call that can be interrupted; the call itself, where it reads no regular expression. */
  def version(call: Expression): Expression = call match {
    case RLike(text, pattern) => new WatchedRLike(text, pattern)
    case Like(text, pattern, escape) => new WatchedLike(text, pattern, escape)
    case LikeAll(text, patterns) => new LikeAll(text, patterns) {
      private lazy val search = new LikeSearch(patterns)
      override def matches(text: String): Any = {
        search.run(text)
        super.matches(text)
      }
    }
    case LikeAny(text, patterns) => new LikeAny(text, patterns) {
      private lazy val search = new LikeSearch(patterns)
      override def matches(text: String): Any = {
        search.run(text)
        super.matches(text)
      }
    }
    case NotLikeAll(text, patterns) => new NotLikeAll(text, patterns) {
      private lazy val search = new LikeSearch(patterns)
      override def matches(text: String): Any = {
        search.run(text)
        super.matches(text)
      }
    }
    case NotLikeAny(text, patterns) => new NotLikeAny(text, patterns) {
      private lazy val search = new LikeSearch(patterns)
      override def matches(text: String): Any = {
        search.run(text)
        super.matches(text)
      }
    }
    case RegExpExtract(text, pattern, group) => new WatchedExtract(text, pattern, group)
    case RegExpExtractAll(text, pattern, group) => new WatchedExtractAll(text, pattern, group)
    case RegExpInStr(text, pattern, group) => new WatchedInStr(text, pattern, group)
    case RegExpReplace(text, pattern, by, from) => new WatchedReplace(text, pattern, by, from)
    case split: StringSplit => new WatchedSplit(split)
    case _ => call
  }

  private[guard] def over(matcher: Matcher, text: Any): Matcher = matcher.reset(new WatchedText(text.toString))
}

/** Matches a text against several LIKE patterns once before Spark does, so that it can be interrupted. */
private[guard] final class LikeSearch(patterns: Seq[UTF8String]) {
  private val compiled = patterns.filter(_ != null).map(_.toString).filter(_.count(_ == '%') > 1)
    .map(pattern => Pattern.compile(StringUtils.escapeLikeRegex(pattern, '\\')))

  def run(text: String): Unit = compiled.foreach(_.matcher(new WatchedText(text)).matches())
}

final class WatchedRLike(text: Expression, pattern: Expression) extends RLike(text, pattern) {
  override def matches(pattern: Pattern, text: String): Boolean = pattern.matcher(new WatchedText(text)).find(0)
}

final class WatchedLike(text: Expression, pattern: Expression, escape: Char) extends Like(text, pattern, escape) {
  override def matches(pattern: Pattern, text: String): Boolean = pattern.matcher(new WatchedText(text)).matches()
}

final class WatchedExtract(text: Expression, pattern: Expression, group: Expression)
    extends RegExpExtract(text, pattern, group) {
  override protected def getLastMatcher(text: Any, pattern: Any): Matcher =
    Watched.over(super.getLastMatcher(text, pattern), text)
}

final class WatchedExtractAll(text: Expression, pattern: Expression, group: Expression)
    extends RegExpExtractAll(text, pattern, group) {
  override def nullSafeEval(text: Any, pattern: Any, group: Any): Any = {
    var bytes = 0L
    if (text.toString.length > WatchedSplit.Short) {
      val matcher = getLastMatcher(text, pattern)
      while (matcher.find()) {
        bytes += 8 + matcher.end - matcher.start
        Sizes.require(prettyName, bytes)
      }
    }
    super.nullSafeEval(text, pattern, group)
  }

  override protected def getLastMatcher(text: Any, pattern: Any): Matcher =
    Watched.over(super.getLastMatcher(text, pattern), text)
}

final class WatchedInStr(text: Expression, pattern: Expression, group: Expression)
    extends RegExpInStr(text, pattern, group) {
  override protected def getLastMatcher(text: Any, pattern: Any): Matcher =
    Watched.over(super.getLastMatcher(text, pattern), text)
}

/** Reads a text once before Spark does, so that a search without end is interrupted, and counts what it finds. */
private[guard] object Search {
  private val Repeating = "[*+?{|]".r

  /** Calls `found` for each match. A pattern without a repetition or a choice needs no search: it ends by itself. */
  def each(pattern: Pattern, text: String)(found: Matcher => Unit): Unit = {
    val matcher = pattern.matcher(new WatchedText(text))
    while (matcher.find()) found(matcher)
  }

  def isRepeating(pattern: String): Boolean = Repeating.findFirstIn(pattern).isDefined

  def compile(pattern: String, collation: Int): Pattern =
    Pattern.compile(pattern, CollationSupport.collationAwareRegexFlags(collation))
}

final class WatchedReplace(text: Expression, pattern: Expression, by: Expression, from: Expression)
    extends RegExpReplace(text, pattern, by, from) {
  @transient private var last: (String, Pattern) = ("", null)

  override def nullSafeEval(text: Any, pattern: Any, by: Any, from: Any): Any = {
    val (written, regex) = (text.toString, pattern.toString)
    if (Search.isRepeating(regex) || mayGrow(written, by.toString)) judge(written, regex, by.toString)
    super.nullSafeEval(text, pattern, by, from)
  }

  private def mayGrow(text: String, by: String): Boolean = Sizes.times(text.length + 1L, by.length) > Sizes.MaxBytes

  private def judge(text: String, regex: String, by: String): Unit = {
    if (last._1 != regex || last._2 == null) last = (regex, Search.compile(regex, collationId))
    val groups = by.count(_ == '$')
    var bytes = text.length.toLong
    Search.each(last._2, text) { found =>
      bytes += by.length + groups.toLong * (found.end - found.start)
      Sizes.require(prettyName, bytes)
    }
  }
}

final class WatchedSplit(original: StringSplit) extends StringSplit(original.str, original.regex, original.limit) {
  @transient private var last: (String, Pattern) = ("", null)

  override def nullSafeEval(text: Any, pattern: Any, limit: Any): Any = {
    val (written, regex) = (text.toString, pattern.toString)
    if (regex.isEmpty) Sizes.require(prettyName, Sizes.times(written.length, 16))
    else if (Search.isRepeating(regex) || written.length > WatchedSplit.Short) judge(written, regex)
    super.nullSafeEval(text, pattern, limit)
  }

  private def judge(text: String, regex: String): Unit = {
    if (last._1 != regex || last._2 == null) last = (regex, Search.compile(regex, collationId))
    var bytes = text.length.toLong
    Search.each(last._2, text) { _ =>
      bytes += 8
      Sizes.require(prettyName, bytes)
    }
  }
}

private object WatchedSplit {
  /** A text of so many characters has not too many parts. */
  val Short = 1 << 20
}
