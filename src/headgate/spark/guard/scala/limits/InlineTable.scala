package io.headgate.guard.limits

import org.antlr.v4.runtime.tree.{ParseTree, TerminalNode}
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer._
import org.apache.spark.sql.internal.SQLConf

/**
 * The rows of VALUES. Spark evaluates them while it parses, where no limit or interruption applies, so only constants are
 * evaluated there.
 */
object InlineTable {
  private val Constants = Set(STRING_LITERAL, DOUBLEQUOTED_STRING, INTEGER_VALUE, BIGINT_LITERAL, SMALLINT_LITERAL, TINYINT_LITERAL) ++
    Set(DECIMAL_VALUE, EXPONENT_VALUE, FLOAT_LITERAL, DOUBLE_LITERAL, BIGDECIMAL_LITERAL, NULL, TRUE, FALSE) ++
    Set(DATE, TIMESTAMP, TIMESTAMP_LTZ, TIMESTAMP_NTZ, MINUS, COMMA, LEFT_PAREN, RIGHT_PAREN)

  /** Build the table so that Spark evaluates rows of anything but constants later, with the statement. */
  def evaluated[T](rows: Seq[ParseTree])(build: => T): T =
    if (rows.forall(isConstant)) build else SQLConf.withExistingConf(later)(build)

  private def later: SQLConf = {
    val conf = SQLConf.get.clone()
    conf.setConf(SQLConf.EAGER_EVAL_OF_UNRESOLVED_INLINE_TABLE_ENABLED, false)
    conf
  }

  private def isConstant(part: ParseTree): Boolean = part match {
    case leaf: TerminalNode => Constants(leaf.getSymbol.getType)
    case _ => (0 until part.getChildCount).forall(at => isConstant(part.getChild(at)))
  }
}
