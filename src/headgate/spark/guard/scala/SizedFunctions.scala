package io.headgate.guard

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}

/**
 * Spark's functions with the guard's limits. They are made when a function is looked up, because Spark evaluates some
 * arguments while it analyzes a statement, before any rule could see them.
 */
object SizedFunctions {
  private type Builder = Seq[Expression] => Expression

  /** The functions of the list `sizes.txt` whose values are not bounded by what they are made of. */
  def all: Seq[(FunctionIdentifier, ExpressionInfo, Builder)] = for {
    name <- Lists.sized.toSeq
    id = FunctionIdentifier(name)
    info <- FunctionRegistry.builtin.lookupFunction(id)
    builder <- FunctionRegistry.builtin.lookupFunctionBuilder(id)
  } yield (id, info, (arguments: Seq[Expression]) => registered(builder(arguments)))

  /** The call with its limit, if it has one. */
  def limited(call: Expression): Expression =
    if (SizeRules.before(call).isDefined) Sized(call)
    else if (SizeRules.isMeasured(call)) Measured(call, call.prettyName)
    else call

  /** Spark takes a lambda function only where it finds a higher-order one; its values are measured once it is resolved. */
  private def registered(call: Expression): Expression = {
    SizeRules.constants(call)
    call match {
      case function: HigherOrderFunction => function.mapChildren(checkpointed(_, isKept(function)))
      case other => limited(other)
    }
  }

  /** Whether the value of the function has all that its lambda function returns. */
  private def isKept(function: HigherOrderFunction): Boolean = function match {
    case _: ArrayTransform | _: TransformKeys | _: TransformValues | _: ZipWith | _: MapZipWith => true
    case _ => false
  }

  private def checkpointed(part: Expression, isKept: Boolean): Expression = part match {
    case LambdaFunction(body, arguments, false) if !body.isInstanceOf[Checkpoint] =>
      LambdaFunction(Checkpoint(body, isKept), arguments)
    case other => other
  }
}

/** Gives their limits to calls that no registry makes: operators of SQL, and what the client or Spark writes itself. */
object LimitedCalls extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case node => node.mapExpressions(limited)
  }

  private def limited(expression: Expression): Expression = expression match {
    case own: GuardExpression => expression.mapChildren(_.mapChildren(limited))
    case count: RegExpCount if count.resolved => limited(count.replacement)
    case part: RegExpSubStr if part.resolved => limited(part.replacement)
    case other =>
      val inner = other.mapChildren(limited)
      SizeRules.constants(inner)
      SizedFunctions.limited(inner)
  }
}

/** Takes a limit off a call that cannot reach it, so that Spark may compile it or hand it to the files. */
object HarmlessCalls extends Rule[LogicalPlan] {
  private val ShortText = 1L << 20

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressions {
    case Sized(call) if SizeRules.before(call).isEmpty || isHarmless(call) => call
    case Measured(array: CreateArray, _) if array.children.forall(part => isNarrow(part.dataType)) => array
  }

  private def isHarmless(call: Expression): Boolean = call match {
    case pad: StringLPad => isShort(pad.len)
    case pad: StringRPad => isShort(pad.len)
    case space: StringSpace => isShort(space.child)
    case number: FormatNumber => isShort(number.d)
    case RLike(_, pattern) => isText(pattern)(!Search.isRepeating(_))
    case Like(_, pattern, _) => isText(pattern)(_.count(_ == '%') <= 1)
    case map: StringToMap => isText(map.pairDelim)(!_.contains('(')) && isText(map.keyValueDelim)(!_.contains('('))
    case url: ParseUrl => url.children.lift(2).forall(isText(_)(!_.contains('(')))
    case _ => false
  }

  private def isShort(length: Expression): Boolean = length match {
    case Literal(value: Number, _) => value.longValue <= (if (value.longValue < 0) 0 else Sizes.MaxDigits.min(ShortText))
    case _ => false
  }

  private def isText(pattern: Expression)(holds: String => Boolean): Boolean = pattern match {
    case Literal(text, _) if text != null => holds(text.toString)
    case _ => false
  }

  private def isNarrow(kind: DataType): Boolean = kind match {
    case _: StringType | BinaryType => false
    case other => other.defaultSize <= 16 && other.typeName != "array" && other.typeName != "map" && other.typeName != "struct"
  }
}
