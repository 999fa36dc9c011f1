package io.headgate.guard

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.CountMinSketchAgg
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.catalyst.expressions.url.ParseUrlEvaluator
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.ObjectType
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

/** Which functions make large values, or run long, by their arguments; the list `sizes.txt` names them all. */
object SizeRules {
  /** Judges a call by its name and the values of its arguments; throws `LimitExceeded` if it asks for too much. */
  type Rule = (String, Array[Any]) => Unit

  private val SlowestProduct = 1L << 31
  private val Short = 8
  private val MostWindows = 1000

  /** The rule that is asked before a call is made, if its class has one. */
  def before(call: Expression): Option[Rule] = call match {
    case _: StringRepeat => bytes { case Array(text, times) => Sizes.times(whole(times), Sizes.of(text)) }
    case _: StringSpace => bytes { case Array(length) => whole(length) }
    case _: StringLPad | _: StringRPad | _: BinaryPad =>
      bytes { case Array(_, length, pad) => Sizes.times(whole(length), if (pad == null) 0 else 4) }
    case static: StaticInvoke if isBinaryPad(static) => bytes { case Array(_, length, _) => whole(length) }
    case _: ArrayRepeat => bytes { case Array(element, times) => Sizes.times(whole(times), 8 + Sizes.of(element)) }
    case _: ArrayInsert =>
      bytes { case Array(array, place, item) => Sizes.of(array) + Sizes.of(item) + Sizes.times(math.abs(whole(place)), 8) }
    case sequence: Sequence => Some((name, values) => Sizes.require(name, SequenceSize.of(sequence, values)))
    case _: FormatString => Some((name, values) => Sizes.require(name, FormatSize.of(values)))
    case _: FormatNumber => Some(digits)
    case _: StringReplace => bytes { case Array(text, search, by) => replaced(text, search, by) }
    case _: ArrayJoin => Some((name, values) => Sizes.require(name, joined(values)))
    case concat: Concat if concat.children.size > Short => Some((name, values) => Sizes.require(name, values.map(Sizes.of).sum))
    case _: ConcatWs => bytes(separated)
    case _: Flatten => bytes { case Array(array) => Sizes.of(array) }
    case _: Levenshtein => Some(slow)
    case _: StringToMap => Some(plain(1, 2))
    case _: ParseUrl => Some(plain(2))
    case Invoke(Literal(_, ObjectType(kind)), _, _, _, _, _, _, _) if kind == classOf[ParseUrlEvaluator] => Some(plain(3))
    case _: RLike | _: Like | _: MultiLikeBase | _: RegExpReplace | _: RegExpExtractBase | _: StringSplit => Some((_, _) => ())
    case _ => None
  }

  /** Whether a value of the call is measured after it was made. */
  def isMeasured(call: Expression): Boolean = call match {
    case _: Hex | _: Base64 | _: UrlEncode | _: StructsToJson | _: StructsToCsv | _: StructsToXml | _: Upper | _: Lower |
        _: InitCap | _: StringTranslate | _: Encode | _: Quote | _: Mask | _: Elt | _: CreateArray | _: MapConcat |
        _: HigherOrderFunction | _: ArrayUnion | _: ArraysZip | _: MapFromArrays | _: MapFromEntries | _: Sentences |
        _: MakeValidUTF8 | _: Overlay => true
    case concat: Concat => concat.children.size <= Short
    case _ => false
  }

  /** Judges what must be constant, and so is known before the statement runs. */
  def constants(call: Expression): Unit = call match {
    case round: RoundBase => constant(round.right).foreach(scale => digits(round.prettyName, Array(null, scale)))
    case random: RandStr => constant(random.length).foreach(length => Sizes.require(random.prettyName, whole(length)))
    case stack: Stack => stack.children.headOption.flatMap(constant).foreach { rows =>
      Sizes.require(stack.prettyName, Sizes.times(whole(rows), 8L * (1 + stack.children.size / math.max(1, whole(rows)))))
    }
    case sketch: CountMinSketchAgg => for (error <- constant(sketch.epsExpression); sure <- constant(sketch.confidenceExpression))
      Sizes.require(sketch.prettyName, counters(error, sure))
    case window: TimeWindow if window.slideDuration > 0 && window.windowDuration / window.slideDuration > MostWindows =>
      throw new LimitExceeded(s"a row would be in more than $MostWindows windows; slide by more, or make the windows shorter")
    case _ =>
  }

  /** What Spark puts in the place of `lpad` and `rpad` of binary values before it optimizes. */
  private def isBinaryPad(call: StaticInvoke): Boolean =
    call.staticObject == classOf[ByteArray] && call.functionName.endsWith("pad")

  private def constant(argument: Expression): Option[Any] =
    if (argument.resolved && argument.foldable) Try(argument.eval()).toOption.filter(_ != null) else None

  private def bytes(size: PartialFunction[Array[Any], Long]): Option[Rule] =
    Some((name, values) => size.lift(values).foreach(Sizes.require(name, _)))

  private def digits: Rule = (name, values) => values(1) match {
    case null | _: UTF8String =>
    case wanted => if (math.abs(whole(wanted)) > Sizes.MaxDigits)
      throw new LimitExceeded(s"`$name` takes at most ${Sizes.MaxDigits} digits; give fewer")
  }

  private def slow: Rule = (name, values) =>
    if (Sizes.times(Sizes.of(values(0)), Sizes.of(values(1))) > SlowestProduct)
      throw new LimitExceeded(s"`$name` would compare texts that are too long; shorten them")

  /** Arguments that Spark reads as regular expressions, out of the reach of an interruption. */
  private def plain(places: Int*): Rule = (name, values) =>
    for (place <- places; pattern <- values.lift(place) if pattern != null && pattern.toString.contains('('))
      throw new LimitExceeded(s"`$name` takes no groups in this argument; write it without parentheses")

  private def replaced(text: Any, search: Any, by: Any): Long = {
    val (all, one) = (Sizes.of(text), Sizes.of(search))
    if (one == 0 || search == null) all else all + Sizes.times(all / one, Sizes.of(by))
  }

  private def joined(values: Array[Any]): Long = values match {
    case Array(array: ArrayData, separator, rest @ _*) =>
      Sizes.of(array) + Sizes.times(array.numElements(), Sizes.of(separator) + rest.map(Sizes.of).sum)
    case _ => 0
  }

  private def separated: PartialFunction[Array[Any], Long] = {
    case values if values.nonEmpty =>
      val parts = values.tail.map { case array: ArrayData => array.numElements().toLong; case _ => 1L }.sum
      values.tail.map(Sizes.of).sum + Sizes.times(parts, Sizes.of(values.head))
  }

  private def counters(error: Any, sure: Any): Long = {
    val depth = math.ceil(-math.log1p(-number(sure)) / math.log(2))
    val size = math.ceil(2 / number(error)) * depth * 8
    if (size.isNaN || size > Sizes.MaxBytes * 2d) Long.MaxValue else size.toLong
  }

  private def number(value: Any): Double = value.toString.toDouble

  private[guard] def whole(value: Any): Long = value match {
    case number: Number => number.longValue
    case _ => 0L
  }
}
