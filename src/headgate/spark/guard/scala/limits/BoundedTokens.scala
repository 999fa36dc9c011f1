package io.headgate.guard.limits

import scala.collection.mutable

import org.antlr.v4.runtime.{CommonTokenStream, ListTokenSource, Token, TokenSource}
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer._

/**
 * The tokens of a statement. They are counted as the lexer returns them, and again as the parser looks ahead: for some
 * statements it looks at all later tokens from each place.
 *
 * Throws `LimitExceeded` if there are too many tokens, or too many levels of nesting.
 */
final class BoundedTokens(source: TokenSource) extends CommonTokenStream(source) {
  import BoundedTokens._

  private val nesting = new Nesting
  private var looks = 0L
  private var statements = 0
  private var dots = 0

  override protected def fetch(wanted: Int): Int = {
    val before = tokens.size
    val fetched = super.fetch(wanted)
    (before until tokens.size).foreach(at => check(tokens.get(at)))
    requireFew(tokens.size)
    fetched
  }

  override def consume(): Unit = {
    looks += 1
    if (looks % LooksBetweenChecks == 0) Interruption.check()
    if (looks > MaxLooks) PlanLimits.tooComplex("the statement takes too long to parse; split it, or write a part of it to a table first")
    super.consume()
  }

  /** Return the number of tokens of these types. */
  def count(types: Int*): Int = {
    val wanted = types.toSet
    (0 until tokens.size).count(at => wanted(tokens.get(at).getType))
  }

  private def check(token: Token): Unit = if (token.getChannel == Token.DEFAULT_CHANNEL) {
    nesting.add(token.getType)
    if (nesting.depth > MaxDepth)
      PlanLimits.tooComplex(s"the statement nests brackets, CASE or functions more than $MaxDepth levels deep; split it, or write a part of it to a table first")
    token.getType match {
      case DOT => dots += 1
      case COMMA | LEFT_PAREN | RIGHT_PAREN => dots = 0
      case SEMICOLON => statements += 1
      case kind if Numbers(kind) => requireShort(token.getText)
      case _ =>
    }
    if (dots > MaxDots) PlanLimits.tooComplex(s"the statement has more than $MaxDots dots, as in `a.b.c`, in a row without a comma or a parenthesis between them; use names with fewer dots, or put parentheses around pieces of the expression")
    if (statements > MaxStatements) PlanLimits.tooComplex(s"the statement is a script of more than $MaxStatements statements; split it into several scripts")
  }
}

object BoundedTokens {
  /** Most levels of nesting: brackets, CASE, types in types, functions in functions. */
  val MaxDepth = 500

  /** Most tokens. Spark's objects for one take about two kilobytes, so half of the heap is left for other statements. */
  val MaxTokens: Int = math.min(Runtime.getRuntime.maxMemory / 4096, 1000000L).toInt

  /** Most statements of a script: each takes ten kilobytes. */
  private val MaxStatements = 5000

  /** Most dots without a comma or bracket between them: Spark copies a name for each part of it. */
  private val MaxDots = 5000

  private val MaxLooks = 20000000L
  private val LooksBetweenChecks = 65536
  private val MaxDigits = 1000
  private val MaxExponent = 1000
  private val Exponent = "(?i)E([+-]?[0-9]+)".r.unanchored

  private val Numbers = Set(INTEGER_VALUE, BIGINT_LITERAL, SMALLINT_LITERAL, TINYINT_LITERAL) ++
    Set(DECIMAL_VALUE, EXPONENT_VALUE, FLOAT_LITERAL, DOUBLE_LITERAL, BIGDECIMAL_LITERAL)

  /** Return the same tokens with limits. Spark's parser continues to use the tokens that it has created itself. */
  def of(tokens: CommonTokenStream): BoundedTokens = {
    while (tokens.LA(1) != Token.EOF) {
      tokens.consume()
      requireFew(tokens.size)
    }
    tokens.seek(0)
    new BoundedTokens(new ListTokenSource(tokens.getTokens))
  }

  private def requireFew(tokens: Int): Unit =
    if (tokens > MaxTokens)
      PlanLimits.tooComplex(s"the statement has more than $MaxTokens words and symbols; split it, or put its values into a table first")

  /** Refuse a number with too many digits: Spark writes a decimal number out, which takes minutes for a long one. */
  private def requireShort(number: String): Unit = {
    val exponent = number match {
      case Exponent(digits) => BigInt(digits).abs
      case _ => BigInt(0)
    }
    if (number.length > MaxDigits || (number.endsWith("BD") && exponent > MaxExponent))
      throw new LimitExceeded(s"a number in the statement has more than $MaxDigits digits, or an exponent above $MaxExponent; use a shorter number")
  }

  /**
   * The depth of a token. A closing token returns to the depth at which its level was opened; a lambda function ends with its
   * argument.
   */
  private final class Nesting {
    private val open = mutable.Stack.empty[Level]
    private var last = Token.INVALID_TYPE
    var depth = 0

    def add(token: Int): Unit = {
      token match {
        case LEFT_PAREN | LEFT_BRACKET | CASE => begin(token)
        case LT if Types(last) => begin(LT)
        case RIGHT_PAREN => end(LEFT_PAREN)
        case RIGHT_BRACKET => end(LEFT_BRACKET)
        case END => end(CASE)
        case GT => end(LT)
        case ARROW => depth += 1
        case COMMA => depth = open.headOption.fold(0)(_.depth)
        case _ =>
      }
      last = token
    }

    private def begin(opening: Int): Unit = {
      depth += 1
      open.push(Level(opening, depth))
    }

    private def end(opening: Int): Unit = if (open.headOption.exists(_.opening == opening)) depth = open.pop().depth - 1
  }

  private final case class Level(opening: Int, depth: Int)

  private val Types = Set(ARRAY, MAP, STRUCT)
}
