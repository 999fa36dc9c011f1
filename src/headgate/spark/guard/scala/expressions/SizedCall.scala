package io.headgate.guard.expressions

import io.headgate.guard.limits.{Interruption, LimitExceeded}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, CodeGenerator => Code, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._

/**
 * A call whose arguments determine how large its result is, or how long it takes. Each argument is evaluated once and checked
 * by the function's rule; only then is the function called.
 *
 * Spark counts it as conditional, so that it does not evaluate the call on its own if it occurs twice.
 */
final case class SizedCall(child: Expression) extends UnaryExpression with ConditionalExpression with GuardExpression {
  @transient private lazy val rule = SizeRules.before(child)
  @transient private lazy val inputs: Array[Expression] = child.children.filterNot(_.foldable).toArray
  @transient private lazy val call: PreparedCall = PreparedCall(child)

  override def alwaysEvaluatedInputs: Seq[Expression] = child.children
  override def withNewAlwaysEvaluatedInputs(changed: Seq[Expression]): SizedCall = SizedCall(child.withNewChildren(changed))
  override def branchGroups: Seq[Seq[Expression]] = Nil
  override protected def withNewChildInternal(changed: Expression): SizedCall = SizedCall(changed)

  override def eval(row: InternalRow): Any = rule match {
    case None => child.eval(row)
    case Some(_) => call(inputs.map(_.eval(row)))
  }

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode =
    if (rule.isEmpty) child.genCode(context) else callCode(context, made)

  private def callCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val values = context.freshName("values")
    val own = context.addReferenceObj("sized", call, classOf[PreparedCall].getName)
    val assigned = inputs.indices.map(index => assignment(inputs(index).genCode(context), s"$values[$index]"))
    val set = context.splitExpressionsWithCurrentInputs(assigned, "sized", Seq("Object[]" -> values))
    val result = context.freshName("result")
    made.copy(code = code"""
      Object[] $values = new Object[${inputs.length}];
      $set
      Object $result = $own.apply($values);
      boolean ${made.isNull} = $result == null;
      ${CodeGenerator.javaType(dataType)} ${made.value} = ${made.isNull} ?
        ${Code.defaultValue(dataType)} : (${CodeGenerator.boxedType(dataType)}) $result;""")
  }

  private def assignment(input: ExprCode, place: String): String =
    s"${input.code}\nif (!${input.isNull}) $place = ${input.value};"
}

/** A call with its constant arguments evaluated, which lacks only the other ones. */
final case class PreparedCall(private val original: Expression) {
  @transient private lazy val rule = SizeRules.before(original)
  @transient private lazy val arguments: Array[Expression] = {
    val places = Iterator.from(0)
    original.children.map {
      case literal: Literal => literal
      case constant if constant.foldable => Literal.create(constant.eval(), constant.dataType)
      case input => BoundReference(places.next(), input.dataType, nullable = true)
    }.toArray
  }
  @transient private lazy val prepared: Expression = InterruptibleFunctions.version(original.withNewChildren(arguments.toSeq))

  /**
   * Return the result of the call for these arguments. Throw `LimitExceeded` if it would be too large. The call may take
   * seconds.
   */
  def apply(values: Array[Any]): Any = {
    Interruption.check()
    val row = new GenericInternalRow(values)
    rule.foreach(_(original.prettyName, arguments.map(_.eval(row))))
    try prepared.eval(row)
    catch {
      // Java's regular expressions recurse for each character; in a task the error would end the driver.
      case _: StackOverflowError => throw new LimitExceeded(
        s"`${original.prettyName}` needs more stack memory than a Spark task has; use a simpler pattern, or a shorter value", LimitExceeded.TooComplex)
    }
  }
}

/** A call whose result is measured after it was made: it is at most a few times as large as the arguments. */
final case class Measured(child: Expression, function: String) extends UnaryExpression with GuardExpression {
  override protected def withNewChildInternal(changed: Expression): Measured = copy(child = changed)
  @transient private lazy val bodies: Seq[LambdaBody] = child match {
    case function: HigherOrderFunction => function.functionsForEval.collect { case body: LambdaBody => body }
    case _ => Nil
  }

  /** Begin to count again: a new row begins. Generated code calls this. */
  def reset(): Unit = bodies.foreach(_.reset())

  override def eval(row: InternalRow): Any = {
    reset()
    Sizes.checked(function, child.eval(row))
  }

  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val value = child.genCode(context)
    val name = context.addReferenceObj("function", function)
    val first = if (bodies.isEmpty) "" else s"${context.addReferenceObj("measured", this)}.reset();"
    value.copy(code = code"$first\n${value.code}\n if (!${value.isNull}) io.headgate.guard.expressions.Sizes.checked($name, ${value.value});")
  }
}
