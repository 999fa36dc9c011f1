package io.headgate.guard.limits

import java.util.Locale

import org.antlr.v4.runtime.CharStreams
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{HybridParameterContext, NamedParameterContext, ParameterContext, PositionalParameterContext, SqlBaseLexer}

/** Limits of SQL texts, which are checked before Spark or Iceberg builds anything from the text. */
object SqlText {
  val MaxCharacters: Int = 16 * 1024 * 1024

  /** Most comments that are opened and not closed, also inside a quotation: Spark's lexer takes ever longer for each. */
  private val MaxComments = 200

  /** Most characters that Iceberg compares to remove comments: each that begins a comment, with the whole text. */
  private val MaxComparisons = 1000000000L

  /**
   * Return the tokens of the text. Throw `LimitExceeded` if it is too long or too deep, or has parts that take too long to
   * parse.
   */
  def check(text: String): BoundedTokens = {
    PlanLimits.step()
    requireShort(text.length)
    requireFewComments(text)
    val lexer = new SqlBaseLexer(CharStreams.fromString(text.toUpperCase(Locale.ROOT)))
    lexer.removeErrorListeners()
    val tokens = new BoundedTokens(lexer)
    tokens.fill()
    tokens
  }

  /** Throw `LimitExceeded` if the text would be too long once its parameters are written into it. */
  def check(tokens: BoundedTokens, length: Int, parameters: ParameterContext): Unit = {
    val longest = values(parameters).map(_.sql.length.toLong).maxOption.getOrElse(0L)
    requireShort(length + tokens.count(SqlBaseLexer.COLON, SqlBaseLexer.QUESTION) * longest)
  }

  /**
   * Whether Iceberg has to parse the text: its own statements begin with ALTER. Throws `LimitExceeded` if that would take too
   * long.
   */
  def isForIceberg(tokens: BoundedTokens, text: String): Boolean = {
    val isAlter = tokens.LA(1) == SqlBaseLexer.ALTER
    if (isAlter && (occurrences(text, "--") + occurrences(text, "/*")) * text.length > MaxComparisons)
      PlanLimits.tooComplex("the statement has too many comments for its length; remove some of them")
    isAlter
  }

  private def requireShort(length: Long): Unit =
    if (length > MaxCharacters) PlanLimits.tooComplex(s"the statement is longer than $MaxCharacters characters; split it, or put its values into a table first")

  private def requireFewComments(text: String): Unit = {
    var (at, open) = (0, 0)
    while (at < text.length - 1) {
      val step = if (text.startsWith("/*", at)) 1 else if (text.startsWith("*/", at)) -1 else 0
      open = math.max(open + step, 0)
      if (open > MaxComments)
        PlanLimits.tooComplex(s"the statement opens more than $MaxComments comments (`/*`) that it does not close; close or remove them")
      at += (if (step == 0) 1 else 2)
    }
  }

  private def occurrences(text: String, part: String): Long =
    Iterator.iterate(text.indexOf(part))(at => text.indexOf(part, at + 1)).takeWhile(_ >= 0).size

  private def values(parameters: ParameterContext): Iterable[Expression] = parameters match {
    case NamedParameterContext(named) => named.values
    case PositionalParameterContext(given) => given
    case HybridParameterContext(given, _) => given
  }
}
