package io.headgate.guard.expressions

import io.headgate.guard.policy.AllowLists
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}

/**
 * Spark's functions with the guard's limits. They are made when a function is looked up, because Spark evaluates some
 * arguments while it analyzes a statement, before any rule could see them.
 */
object SizedFunctions {
  /** The functions of the list `sizes.txt` whose values are not bounded by what they are made of. */
  def all: Seq[(FunctionIdentifier, ExpressionInfo, FunctionRegistry.FunctionBuilder)] = for {
    name <- AllowLists.sized.toSeq
    id = FunctionIdentifier(name)
    info <- FunctionRegistry.builtin.lookupFunction(id)
    builder <- FunctionRegistry.builtin.lookupFunctionBuilder(id)
  } yield (id, info, (arguments: Seq[Expression]) => {
    SizeRules.arguments(name, arguments)
    registered(builder(arguments))
  })

  /** The call with its limit, if it has one. */
  def limited(call: Expression): Expression = {
    val judged = if (SizeRules.before(call).isDefined) SizedCall(call) else call
    if (SizeRules.isMeasured(call)) Measured(judged, call.prettyName) else judged
  }

  /** Whether all values of the type have a few bytes. */
  def isNarrow(kind: DataType): Boolean = kind match {
    case _: StringType | BinaryType => false
    case other => other.defaultSize <= 16 && !Set("array", "map", "struct", "variant")(other.typeName)
  }

  /** Spark takes a lambda function only where it finds a higher-order one; its values are measured once it is resolved. */
  private def registered(call: Expression): Expression = {
    SizeRules.constants(call)
    call match {
      case function: HigherOrderFunction => function.mapChildren(checkpointed(_, returned(function)))
      // It can be unfolded only once it is resolved; Spark may evaluate it before.
      case replaced: RuntimeReplaceable if SizeRules.before(call).isEmpty && !SizeRules.isMeasured(call) => SizedCall(replaced)
      case other => limited(other)
    }
  }

  /** What becomes of the values that a lambda function returns. */
  private def returned(function: HigherOrderFunction): LambdaBody.Returned = function match {
    case _: ArrayTransform | _: TransformKeys | _: TransformValues | _: ZipWith | _: MapZipWith => LambdaBody.Kept
    case _: ArrayAggregate => LambdaBody.Carried
    case _ => LambdaBody.Dropped
  }

  private def checkpointed(part: Expression, returned: LambdaBody.Returned): Expression = part match {
    case LambdaFunction(body, arguments, false) if !body.isInstanceOf[LambdaBody] =>
      LambdaFunction(LambdaBody(body, returned), arguments)
    case other => other
  }
}

/**
 * Gives their limits to calls that no registry makes: operators of SQL, and what the client or Spark writes itself.
 * Calls are unfolded only once columns have their names, which Spark takes from the calls.
 */
final class LimitedCalls(unfolds: Boolean) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case node => node.mapExpressions(limited)
  }

  private def limited(expression: Expression): Expression = expression match {
    case SizedCall(call) if unfolds && SizeRules.isReplacedByLimited(call) => unfolded(call)
    case call if SizeRules.isReplacedByLimited(call) => if (unfolds) unfolded(call) else SizedCall(call.mapChildren(limited))
    case own: GuardExpression => expression.mapChildren(_.mapChildren(limited))
    case other =>
      val inner = other.mapChildren(limited)
      SizeRules.constants(inner)
      SizedFunctions.limited(fewEntries(inner))
  }

  /** What Spark would run in the place of the call; the limits of its parts hold there. */
  private def unfolded(call: Expression): Expression = call match {
    case replaced: RuntimeReplaceable => limited(replaced.replacement)
    case other => other
  }

  /** Keys without an equality that Spark could hash: it compares each with each. */
  private def fewEntries(call: Expression): Expression = call match {
    case zip: MapZipWith if zip.resolved && !TypeUtils.typeWithProperEquals(zip.keyType) =>
      zip.copy(left = BoundedMap.of(zip.left), right = BoundedMap.of(zip.right))
    case other => other
  }
}

/** Takes a limit off a call that cannot reach it, so that Spark may compile it or hand it to the files. */
object HarmlessCalls extends Rule[LogicalPlan] {
  private val ShortText = 1L << 20
  private val ShortSearch = 256

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressions {
    case SizedCall(call) if SizeRules.before(call).isEmpty || isHarmless(call) => call
    case Measured(array: CreateArray, _) if array.children.forall(part => SizedFunctions.isNarrow(part.dataType)) => array
  }

  private def isHarmless(call: Expression): Boolean = call match {
    case pad: StringLPad => isShort(pad.len)
    case pad: StringRPad => isShort(pad.len)
    case space: StringSpace => isShort(space.child)
    case number: FormatNumber => isShort(number.d)
    case RLike(_, pattern) => isText(pattern)(!Search.isRepeating(_))
    case Like(_, pattern, _) => isText(pattern)(_.count(_ == '%') <= 1)
    case url: ParseUrl => url.children.lift(2).forall(isText(_)(SizeRules.isPlainKey))
    case _: Contains | _: StringInstr | _: SubstringIndex | _: String2TrimExpression => isText(call.children(1))(_.length <= ShortSearch)
    case locate: StringLocate => isText(locate.substr)(_.length <= ShortSearch)
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
}
