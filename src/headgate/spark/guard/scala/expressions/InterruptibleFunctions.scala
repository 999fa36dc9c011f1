package io.headgate.guard.expressions

import java.util.regex.{Matcher, Pattern}

import io.headgate.guard.limits.Interruption
import org.apache.spark.{QueryContext, SparkException}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapBuilder, CollationFactory, GenericArrayData, StringUtils}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** A text for regular expressions. Reading it includes interruption checks. */
final class InterruptibleText(text: String, function: String = "") extends CharSequence {
  private var reads = 0
  private var taken = 0L

  override def length: Int = text.length

  /** Return a part of the text, for a function that keeps it, and count the parts. */
  override def subSequence(start: Int, end: Int): CharSequence = {
    taken += InterruptibleText.Part + end - start
    Sizes.require(function, taken)
    text.subSequence(start, end)
  }

  override def toString: String = text

  override def charAt(index: Int): Char = {
    reads += 1
    if ((reads & InterruptibleText.Mask) == 0) Interruption.check()
    text.charAt(index)
  }
}

private object InterruptibleText {
  val Mask = 8191
  val Part = 8
}

/** Versions of Spark's functions of regular expressions that can be interrupted. */
object InterruptibleFunctions {
  /** Return the version of a call that can be interrupted, or the call itself if it reads no regular expression. */
  def version(call: Expression): Expression = call match {
    case replaced: RuntimeReplaceable => version(replaced.replacement)
    case _ => watched(call.mapChildren(version))
  }

  private def watched(call: Expression): Expression = call match {
    case RLike(text, pattern) => new InterruptibleRLike(text, pattern)
    case Like(text, pattern, escape) => new InterruptibleLike(text, pattern, escape)
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
    case RegExpExtract(text, pattern, group) => new InterruptibleExtract(text, pattern, group)
    case RegExpExtractAll(text, pattern, group) => new InterruptibleExtractAll(text, pattern, group)
    case RegExpInStr(text, pattern, group) => new InterruptibleInStr(text, pattern, group)
    case RegExpReplace(text, pattern, by, from) => new InterruptibleReplace(text, pattern, by, from)
    case split: StringSplit => new InterruptibleSplit(split)
    case map: StringToMap => new InterruptibleStringToMap(map)
    case _ => call
  }

  private[guard] def over(matcher: Matcher, text: Any): Matcher = matcher.reset(new InterruptibleText(text.toString))
}

/** Matches a text against several LIKE patterns once before Spark does, so that it can be interrupted. */
private[guard] final class LikeSearch(patterns: Seq[UTF8String]) {
  private val compiled = patterns.filter(_ != null).map(_.toString).filter(_.count(_ == '%') > 1)
    .map(pattern => Pattern.compile(StringUtils.escapeLikeRegex(pattern, '\\')))

  def run(text: String): Unit = compiled.foreach(_.matcher(new InterruptibleText(text)).matches())
}

final class InterruptibleRLike(text: Expression, pattern: Expression) extends RLike(text, pattern) {
  override def matches(pattern: Pattern, text: String): Boolean = pattern.matcher(new InterruptibleText(text)).find(0)
}

final class InterruptibleLike(text: Expression, pattern: Expression, escape: Char) extends Like(text, pattern, escape) {
  override def matches(pattern: Pattern, text: String): Boolean = pattern.matcher(new InterruptibleText(text)).matches()
}

final class InterruptibleExtract(text: Expression, pattern: Expression, group: Expression)
    extends RegExpExtract(text, pattern, group) {
  override protected def getLastMatcher(text: Any, pattern: Any): Matcher =
    InterruptibleFunctions.over(super.getLastMatcher(text, pattern), text)
}

final class InterruptibleExtractAll(text: Expression, pattern: Expression, group: Expression)
    extends RegExpExtractAll(text, pattern, group) {
  override def nullSafeEval(text: Any, pattern: Any, group: Any): Any = {
    var bytes = 0L
    if (text.toString.length > InterruptibleExtractAll.Short) {
      val matcher = getLastMatcher(text, pattern)
      while (matcher.find()) {
        bytes += 8 + matcher.end - matcher.start
        Sizes.require(prettyName, bytes)
      }
    }
    super.nullSafeEval(text, pattern, group)
  }

  override protected def getLastMatcher(text: Any, pattern: Any): Matcher =
    InterruptibleFunctions.over(super.getLastMatcher(text, pattern), text)
}

private object InterruptibleExtractAll {
  /** Characters of a text that cannot have too many matches. */
  val Short = 1 << 20
}

final class InterruptibleInStr(text: Expression, pattern: Expression, group: Expression)
    extends RegExpInStr(text, pattern, group) {
  override protected def getLastMatcher(text: Any, pattern: Any): Matcher =
    InterruptibleFunctions.over(super.getLastMatcher(text, pattern), text)
}

/** Whether a pattern repeats, and the parts of a text between its matches. */
private[guard] object Search {
  private val Repeating = "[*+?{|]".r

  /**
   * Whether a pattern has a repetition or a choice. The search for any other pattern ends by itself, and needs no interruption
   * checks.
   */
  def isRepeating(pattern: String): Boolean = Repeating.findFirstIn(pattern).isDefined

  def compile(function: String, pattern: Any, collation: Int): Pattern =
    RegExpUtils.getPatternAndLastRegex(pattern, function, collation)._1

  /**
   * Return the parts as `String.split` makes them, empty ones at the end included. Throw `LimitExceeded` if there are too many.
   */
  def split(function: String, pattern: Pattern, text: Any, limit: Int): Array[UTF8String] =
    pattern.split(new InterruptibleText(text.toString, function), if (limit == 0) -1 else limit).map(UTF8String.fromString)
}

/** The pattern that was compiled last: it is mostly the same for each row. */
private[guard] final class LastPattern(function: String, collation: Int) {
  private var last: (Any, Pattern) = (null, null)

  def apply(pattern: Any): Pattern = {
    if (last._1 != pattern) last = (pattern.asInstanceOf[UTF8String].clone(), Search.compile(function, pattern, collation))
    last._2
  }
}

final class InterruptibleReplace(text: Expression, pattern: Expression, by: Expression, from: Expression)
    extends RegExpReplace(text, pattern, by, from) {
  @transient private lazy val patterns = new LastPattern(prettyName, collationId)

  /** Replace as Spark does, but read the text only once, count the result, and end with the statement. */
  override def nullSafeEval(text: Any, pattern: Any, by: Any, from: Any): Any = {
    val (written, start) = (text.toString, from.asInstanceOf[Int] - 1)
    if (start != 0 && start >= written.codePointCount(0, written.length)) text
    else {
      val matcher = patterns(pattern).matcher(new InterruptibleText(written, prettyName))
      try replaced(matcher.region(written.offsetByCodePoints(0, start), written.length), written, by.toString)
      catch {
        case error @ (_: IllegalArgumentException | _: IndexOutOfBoundsException) =>
          val said = Map("source" -> written, "pattern" -> pattern.toString, "replacement" -> by.toString, "position" -> (start + 1).toString)
          val message = s"`$prettyName` cannot use the replacement `$by` (${error.getMessage}); write `$$1` for the first group, and `\\$$` for a dollar sign"
          throw new SparkException(message, error, Some("INVALID_REGEXP_REPLACE"), said, Array.empty[QueryContext])
      }
    }
  }

  private def replaced(matcher: Matcher, text: String, by: String): UTF8String = {
    val (made, groups) = (new java.lang.StringBuilder, by.count(_ == '$').toLong)
    while (matcher.find()) {
      Sizes.require(prettyName, made.length + by.length + groups * (matcher.end - matcher.start))
      matcher.appendReplacement(made, by)
    }
    UTF8String.fromString(matcher.appendTail(made).toString)
  }
}

final class InterruptibleSplit(original: StringSplit) extends StringSplit(original.str, original.regex, original.limit) {
  @transient private lazy val patterns = new LastPattern(prettyName, collationId)

  override def nullSafeEval(text: Any, pattern: Any, limit: Any): Any =
    if (pattern.asInstanceOf[UTF8String].numBytes == 0) {
      Sizes.require(prettyName, Sizes.times(text.asInstanceOf[UTF8String].numBytes, 16))
      super.nullSafeEval(text, pattern, limit)
    } else new GenericArrayData(Search.split(prettyName, patterns(pattern), text, limit.asInstanceOf[Int]).asInstanceOf[Array[Any]])
}

final class InterruptibleStringToMap(original: StringToMap)
    extends StringToMap(original.text, original.pairDelim, original.keyValueDelim) {
  @transient private lazy val pairs = new LastPattern(prettyName, collation)
  @transient private lazy val sides = new LastPattern(prettyName, collation)

  private def collation: Int = original.text.dataType.asInstanceOf[StringType].collationId

  override def nullSafeEval(text: Any, pair: Any, side: Any): Any =
    if (Seq(pair, side).exists(_.asInstanceOf[UTF8String].numBytes == 0) || !CollationFactory.fetchCollation(collation).isUtf8BinaryType) {
      Sizes.require(prettyName, Sizes.times(text.asInstanceOf[UTF8String].numBytes, 16))
      super.nullSafeEval(text, pair, side)
    } else {
      val map = new ArrayBasedMapBuilder(original.text.dataType, original.text.dataType)
      Search.split(prettyName, pairs(pair), text, -1).foreach { each =>
        val both = Search.split(prettyName, sides(side), each, 2)
        map.put(both.head, both.lift(1).orNull)
      }
      map.build()
    }
}
