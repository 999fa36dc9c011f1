package io.headgate.guard.expressions

import io.headgate.guard.driver.ErrorChain
import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.policy.{AccessDenied, AllowLists}
import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, TryEval, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._

/**
 * A call that has no value where its computation fails, in the place of Spark's `TryEval`, which would also hide that the
 * statement was cancelled or has exceeded a limit.
 */
final case class TriedCall(child: Expression) extends UnaryExpression with GuardExpression {
  override def nullable: Boolean = true
  override def prettyName: String = "tryeval"
  override def toString: String = s"$prettyName($child)"
  override protected def withNewChildInternal(changed: Expression): TriedCall = TriedCall(changed)

  override def eval(row: InternalRow): Any =
    try child.eval(row)
    catch {
      case error: Exception =>
        TriedCall.requireFailure(error)
        null
    }

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val value = child.genCode(context)
    made.copy(code = code"""
      boolean ${made.isNull} = true;
      ${CodeGenerator.javaType(dataType)} ${made.value} = ${CodeGenerator.defaultValue(dataType)};
      try {
        ${value.code}
        ${made.isNull} = ${value.isNull};
        ${made.value} = ${value.value};
      } catch (Exception e) {
        io.headgate.guard.expressions.TriedCall.requireFailure(e);
      }""")
  }
}

object TriedCall {
  private val Prefix = "try_"

  /** Return the functions `try_...` with calls that hide no end of a statement; those with a limit have it already. */
  def all: Seq[(FunctionIdentifier, ExpressionInfo, FunctionRegistry.FunctionBuilder)] = for {
    name <- AllowLists.functions.toSeq
    if name.startsWith(Prefix) && !AllowLists.sized(name)
    id = FunctionIdentifier(name)
    info <- FunctionRegistry.builtin.lookupFunction(id)
    builder <- FunctionRegistry.builtin.lookupFunctionBuilder(id)
  } yield (id, info, (arguments: Seq[Expression]) => builder(arguments).transform { case TryEval(call) => TriedCall(call) })

  /** Throw the error again if it ends the statement, and is not a failure of the computation. Generated code calls this. */
  def requireFailure(error: Exception): Unit =
    if (ErrorChain.of(error).exists(endsStatement)) throw error

  private def endsStatement(error: Throwable): Boolean = error match {
    case _: LimitExceeded | _: AccessDenied | _: TaskKilledException | _: InterruptedException => true
    case _ => false
  }
}
