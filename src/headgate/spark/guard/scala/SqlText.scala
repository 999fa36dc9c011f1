package io.headgate.guard

import java.util.Locale

import org.antlr.v4.runtime.{CharStreams, Token}
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer

/** SQL before it is parsed: Spark's parser takes ever more memory and time for each level of brackets. */
object SqlText {
  /** Levels of brackets within each other. */
  val MaxDepth = 500

  /** Returns the text. Throws `LimitExceeded` if its brackets are nested too deeply. */
  def shallow(text: String): String = {
    if (text.count(sign => sign == '(' || sign == '[') > MaxDepth && depth(text) > MaxDepth)
      throw new LimitExceeded(
        s"the statement nests brackets more than $MaxDepth levels deep; split it, or write a part of it to a table first",
        LimitExceeded.TooComplex)
    text
  }

  /** Spark's own lexer knows what is a quotation and what is a comment. */
  private def depth(text: String): Int = {
    val lexer = new SqlBaseLexer(CharStreams.fromString(text.toUpperCase(Locale.ROOT)))
    lexer.removeErrorListeners()
    var (now, most) = (0, 0)
    Iterator.continually(lexer.nextToken()).takeWhile(_.getType != Token.EOF).foreach { token =>
      token.getType match {
        case SqlBaseLexer.LEFT_PAREN | SqlBaseLexer.LEFT_BRACKET => now += 1
        case SqlBaseLexer.RIGHT_PAREN | SqlBaseLexer.RIGHT_BRACKET => now = math.max(now - 1, 0)
        case _ =>
      }
      most = math.max(most, now)
    }
    most
  }
}
