package io.headgate.guard.limits

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{CommonExpressionId, CommonExpressionRef, Expression, Literal, RuntimeReplaceable, With}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.unsafe.types.UTF8String

/**
 * Limits the growth of calls. Some functions are replaced by an expression that has an argument several times, or that refers
 * to it several times and is expanded later; nested in each other, they double with each level.
 */
object CopiedArguments {
  /** Most expressions that are copies of others. */
  private val Most = 20000

  /** The tag with the size of a call that was built before. Spark may change the call, and it keeps its tags. */
  private val Built = TreeNodeTag[Size]("headgate.size")

  private final case class Size(written: Double, unique: Double) {
    def +(other: Size): Size = Size(written + other.written, unique + other.unique)
  }

  /** Return the call that Spark has just built of the arguments. Throw `LimitExceeded` if it has too many copies of them. */
  def check(call: Expression, arguments: Seq[Expression]): Expression = {
    if (call.isInstanceOf[RuntimeReplaceable] || !call.children.corresponds(arguments)(_ eq _)) {
      val size = Counting.of(call, arguments)
      if (size.written - size.unique > Most)
        PlanLimits.tooComplex(
          s"the statement is too large: Spark copies the arguments of calls such as `nullif` and BETWEEN, and nested calls make more than $Most copies; nest fewer of them, or compute the argument in a subquery or in a table first")
      call.setTagValue(Built, size)
    }
    call
  }

  private object Counting {
    /** Return the size of a call. Its arguments are counted first, so that the rest of it is its own. */
    def of(call: Expression, arguments: Seq[Expression]): Size = {
      val counting = new Counting
      val given = arguments.map(counting.size).map(_.unique).sum
      counting.isOfArguments = false
      counting.size(call) + Size(0, given)
    }
  }

  private final class Counting {
    private var isOfArguments = true
    private val seen = new IdentityHashMap[Expression, Size]
    private val named = mutable.Map.empty[CommonExpressionId, Size]

    /** Return the size of an expression once it is expanded; if it was counted before, none of that is unique. */
    def size(part: Expression): Size = Option(seen.get(part)) match {
      case Some(known) => Size(known.written, 0)
      case None =>
        val size = part.getTagValue(Built).getOrElse(counted(part))
        seen.put(part, size)
        size
    }

    private def counted(part: Expression): Size = part match {
      case With(body, definitions) =>
        definitions.foreach(each => named(each.id) = size(each.child))
        size(body) + Size(0, definitions.map(each => named(each.id).unique).sum)
      // Some functions write their arguments out, to show them in an error.
      case Literal(text: UTF8String, _) if !isOfArguments => Size(1d + text.numBytes, 1)
      case use: CommonExpressionRef => named.get(use.id).fold(Size(1, 1))(known => Size(known.written, 0))
      case replaced: RuntimeReplaceable => total(Try(Seq(replaced.replacement)).getOrElse(replaced.children))
      case _ => total(part.children)
    }

    private def total(parts: Seq[Expression]): Size = parts.foldLeft(Size(1, 1))((sum, part) => sum + size(part))
  }
}
