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
 * Spark's functions with the guard's limits. The limits are added when a function is looked up, because Spark evaluates some
 * arguments during analysis, before any rule could see them.
 */
object SizedFunctions {
  /** Return the functions that `sizes.txt` lists as `sized`: their results are not bounded by their arguments. */
  def all: Seq[(FunctionIdentifier, ExpressionInfo, FunctionRegistry.FunctionBuilder)] = for {
    name <- AllowLists.sized.toSeq
    id = FunctionIdentifier(name)
    info <- FunctionRegistry.builtin.lookupFunction(id)
    builder <- FunctionRegistry.builtin.lookupFunctionBuilder(id)
  } yield (id, info, (arguments: Seq[Expression]) => {
    SizeRules.arguments(name, arguments)
    registered(builder(arguments))
  })

  /** Return the call with its limit, if it has one. */
  def limited(call: Expression): Expression = {
    val judged = if (SizeRules.before(call).isDefined) SizedCall(call) else call
    if (SizeRules.isMeasured(call)) Measured(judged, call.prettyName) else judged
  }

  /** Whether all values of the type have a few bytes. */
  def isNarrow(kind: DataType): Boolean = kind match {
    case _: StringType | BinaryType => false
    case other => other.defaultSize <= 16 && !Set("array", "map", "struct", "variant")(other.typeName)
  }

  /**
   * Return a call of a registry with its limits. Spark accepts a lambda function only inside a higher-order function; its
   * values are measured once it is resolved.
   */
  private def registered(call: Expression): Expression = {
    SizeRules.constants(call)
    call match {
      case function: HigherOrderFunction => function.mapChildren(checkpointed(_, returned(function)))
      // It can be unfolded only once it is resolved; Spark may evaluate it before.
      case replaced: RuntimeReplaceable if SizeRules.before(call).isEmpty && !SizeRules.isMeasured(call) => SizedCall(replaced)
      case other => limited(other)
    }
  }

  /** Return how the function uses the values that its lambda function returns. */
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
 * Adds limits to calls that do not come from a registry: operators of SQL, and expressions that the client or Spark builds
 * itself. Calls are replaced by their implementation (`unfolds`) only once columns have their names, which Spark takes from the
 * calls.
 */
final class LimitedCalls(unfolds: Boolean) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case node => node.mapExpressions(limited)
  }

  private def limited(expression: Expression): Expression = expression match {
    case SizedCall(call) if unfolds && SizeRules.isReplacedByLimited(call) => unfolded(call)
    case call if SizeRules.isReplacedByLimited(call) => if (unfolds) unfolded(call) else SizedCall(call.mapChildren(limited))
    case tried: TriedCall => tried.mapChildren(limited)
    case own: GuardExpression => expression.mapChildren(_.mapChildren(limited))
    case other =>
      val inner = other.mapChildren(limited)
      SizeRules.constants(inner)
      SizedFunctions.limited(fewEntries(inner))
  }

  /** Return the expression that Spark would run in the place of the call, with the limits of its parts. */
  private def unfolded(call: Expression): Expression = call match {
    case replaced: RuntimeReplaceable => limited(replaced.replacement)
    case other => other
  }

  /** Limit maps whose keys have no equality that Spark could hash: it compares each key with each. */
  private def fewEntries(call: Expression): Expression = call match {
    case zip: MapZipWith if zip.resolved && !TypeUtils.typeWithProperEquals(zip.keyType) =>
      zip.copy(left = BoundedMap.of(zip.left), right = BoundedMap.of(zip.right))
    case other => other
  }
}

/** Removes the limit of a call that cannot reach it, so that Spark may compile the call or push it down to the files. */
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
