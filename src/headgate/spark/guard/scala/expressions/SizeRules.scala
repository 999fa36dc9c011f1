package io.headgate.guard.expressions

import scala.util.Try

import io.headgate.guard.limits.LimitExceeded
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{CollectTopK, CountMinSketchAgg, ThetaSketchAgg, ThetaUnionAgg}
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.catalyst.expressions.url.ParseUrlEvaluator
import org.apache.spark.sql.catalyst.expressions.xml.{XPathEvaluator, XPathExtract}
import org.apache.spark.sql.catalyst.util.{ArrayData, TypeUtils}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

/**
 * Rules for calls that return large values, or run long, depending on their arguments; `sizes.txt` has an entry for each
 * function.
 */
object SizeRules {
  /**
   * A check of a call by its name and the values of its arguments; throws `LimitExceeded` if the call would return too much or
   * take too long.
   */
  type Rule = (String, Array[Any]) => Unit

  private val SlowestProduct = 1L << 31
  private val SlowestSearch = 1L << 33
  private val SlowestPairs = 100000000L
  private val MostParts = 4L << 20
  private val LargestSketch = 20
  private val SmallestError = 0.005
  private val LongestOption = 1000
  private val Short = 8
  private val MostWindows = 1000
  private val MostParsed = 16L << 20
  private val LargestTop = 2000
  private val SmallArray = 1L << 20

  /** Return the rule that is applied before a call, if its class has one. */
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
    case _: StringReplace => Some(both(searched, (name, values) => Sizes.require(name, replaced(values))))
    case _: Contains | _: StringInstr | _: StringLocate | _: SubstringIndex => Some(searched)
    case _: StringSplitSQL => Some(both(searched, parts))
    case trim: String2TrimExpression if trim.children.size > 1 => Some(searched)
    case _: ArrayDistinct | _: ArrayUnion | _: ArrayIntersect | _: ArrayExcept | _: ArraysOverlap if comparesAll(call) => Some(pairs)
    case _: ThetaUnion => Some((name, values) => entries(name, values(2)))
    case from: JsonToStructs => Some(fields(width(from.schema), '{'))
    case from: XmlToStructs => Some(fields(width(from.schema), '<'))
    case _: StructsToJson | _: StructsToCsv | _: StructsToXml => Some((name, values) => Sizes.require(name, values.map(Sizes.of).sum))
    case _: ArrayJoin => Some((name, values) => Sizes.require(name, joined(values)))
    case concat: Concat if concat.children.size > Short => Some((name, values) => Sizes.require(name, values.map(Sizes.of).sum))
    case _: ConcatWs => bytes(separated)
    case _: Flatten => bytes { case Array(array) => Sizes.of(array) }
    case _: Levenshtein => Some(slow)
    case _: ParseUrl => Some(key(2))
    case Invoke(Literal(_, ObjectType(kind)), _, _, _, _, _, _, _) if kind == classOf[ParseUrlEvaluator] => Some(key(3))
    case _: XPathExtract => Some((_, values) => XPathCost.require(values(0), values(1)))
    case Invoke(Literal(evaluator: XPathEvaluator with Product, _), _, _, _, _, _, _, _) =>
      Some((_, values) => XPathCost.require(values(1), evaluator.productElement(0)))
    case _: RLike | _: Like | _: MultiLikeBase | _: RegExpReplace | _: RegExpExtractBase | _: StringSplit | _: StringToMap => Some(free)
    case _ => None
  }

  /**
   * Whether the result of the call is measured after it was made. A small array of literals is not: Spark accepts it as the value
   * of a parameter, and not the expression that measures it.
   */
  def isMeasured(call: Expression): Boolean = call match {
    case _: Hex | _: Base64 | _: UrlEncode | _: StructsToJson | _: StructsToCsv | _: StructsToXml | _: Upper | _: Lower |
        _: InitCap | _: StringTranslate | _: Encode | _: StringDecode | _: Quote | _: Mask | _: Elt | _: MapConcat |
        _: HigherOrderFunction | _: ArrayUnion | _: ArraysZip | _: MapFromArrays | _: MapFromEntries | _: Sentences |
        _: MakeValidUTF8 | _: Overlay => true
    case array: CreateArray => !isSmall(array)
    case concat: Concat => concat.children.size <= Short
    case made @ (_: CreateNamedStruct | _: CreateMap) => repeats(made)
    case _ => false
  }

  private def isSmall(array: CreateArray): Boolean = {
    val literals = array.children.collect { case Literal(value, _) => Sizes.of(value) }
    literals.size == array.children.size && literals.sum <= SmallArray
  }

  /** Whether Spark replaces this call by another one, and that one has a limit. */
  def isReplacedByLimited(call: Expression): Boolean = call match {
    case _: InheritAnalysisRules => false
    case replaced: RuntimeReplaceable if replaced.resolved && before(replaced).isEmpty && !isMeasured(replaced) =>
      replaced.replacement.exists(inner => before(inner).isDefined || isMeasured(inner))
    case _ => false
  }

  /** Check arguments that Spark evaluates while it builds the call. */
  def arguments(name: String, given: Seq[Expression]): Unit =
    if (name == "approx_count_distinct") given.lift(1).flatMap(constant).foreach { error =>
      if (number(error) < SmallestError)
        throw new LimitExceeded(s"the relative error in `$name` is below $SmallestError; use a larger error, or count exactly with `count(DISTINCT ...)`")
    }

  /** Check arguments that must be constant, and so are known before the statement runs. */
  def constants(call: Expression): Unit = call match {
    case sketch: ThetaSketchAgg => constant(sketch.right).foreach(entries(sketch.prettyName, _))
    case sketch: ThetaUnionAgg => constant(sketch.right).foreach(entries(sketch.prettyName, _))
    case json: StructsToJson => options(json.prettyName, json.options)
    case csv: StructsToCsv => options(csv.prettyName, csv.options)
    case xml: StructsToXml => options(xml.prettyName, xml.options)
    case round: RoundBase => constant(round.right).foreach(scale => digits(round.prettyName, Array(null, scale)))
    case random: RandStr => constant(random.length).foreach(length => Sizes.require(random.prettyName, math.max(0, whole(length))))
    case stack: Stack => stack.children.headOption.flatMap(constant).foreach { rows =>
      Sizes.require(stack.prettyName, Sizes.times(whole(rows), 8L * (1 + stack.children.size / math.max(1, whole(rows)))))
    }
    case sketch: CountMinSketchAgg => Sizes.require(sketch.prettyName, initialState(sketch))
    case top: CollectTopK if top.num > LargestTop =>
      throw new LimitExceeded(s"`${top.prettyName}` would keep more than $LargestTop values of each group; ask for fewer values")
    case window: TimeWindow if window.slideDuration > 0 && window.windowDuration / window.slideDuration > MostWindows =>
      throw new LimitExceeded(s"a row would be in more than $MostWindows windows; use a longer slide duration, or shorter windows")
    case _ =>
  }

  /** Return the bytes that an aggregate allocates for each group before its first row, if an argument states them. */
  def initialState(aggregate: Expression): Long = aggregate match {
    case top: CollectTopK => 8L * top.num
    case sketch: CountMinSketchAgg =>
      (for (error <- constant(sketch.epsExpression); sure <- constant(sketch.confidenceExpression)) yield counters(error, sure)).getOrElse(0L)
    case _ => 0L
  }

  /** Whether the call is what Spark puts in the place of `lpad` and `rpad` of binary values before it optimizes. */
  private def isBinaryPad(call: StaticInvoke): Boolean =
    call.staticObject == classOf[ByteArray] && call.functionName.endsWith("pad")

  private def constant(argument: Expression): Option[Any] =
    if (argument.resolved && argument.foldable) Try(argument.eval()).toOption.filter(_ != null) else None

  private def bytes(size: PartialFunction[Array[Any], Long]): Option[Rule] =
    Some((name, values) => size.lift(values).foreach(Sizes.require(name, _)))

  private def digits: Rule = (name, values) => values(1) match {
    case null | _: UTF8String =>
    case wanted => if (math.abs(whole(wanted)) > Sizes.MaxDigits)
      throw new LimitExceeded(s"`$name` would make more than ${Sizes.MaxDigits} digits; ask for fewer digits")
  }

  private def slow: Rule = (name, values) =>
    if (Sizes.times(Sizes.of(values(0)), Sizes.of(values(1))) > SlowestProduct)
      throw new LimitExceeded(s"`$name` would compare strings that are too long; shorten them, for example with `left`")

  /** Return the rule for an argument that Spark reads as a regular expression, where no interruption check can be added. */
  private def key(place: Int): Rule = (name, values) =>
    values.lift(place).filter(key => key != null && !isPlainKey(key.toString)).foreach { _ =>
      throw new LimitExceeded(s"the key of `$name` contains `(`, `*`, `+`, `?` or `{`; write it without these characters, which Spark reads as a regular expression")
    }

  /** Whether a key of `parse_url`, which Spark reads as a regular expression, has no group and no repetition. */
  def isPlainKey(key: String): Boolean = !key.exists("(*+?{".contains(_))

  /** Return a rule without a check, for a call that is limited while it runs. */
  private def free: Rule = (_, _) => ()

  private def both(first: Rule, second: Rule): Rule = (name, values) => {
    first(name, values)
    second(name, values)
  }

  /** Return the rule for a search: Spark compares one text at each place of the other. */
  private def searched: Rule = (name, values) =>
    if (Sizes.times(Sizes.of(values(0)), Sizes.of(values(1))) > SlowestSearch)
      throw new LimitExceeded(s"`$name` would search a string that is too long for another long string; shorten one of them, for example with `left`")

  /** Return the rule for a split: Spark makes an array of all parts, even if it returns one. */
  private def parts: Rule = (name, values) =>
    if (Sizes.of(values(0)) / math.max(1, Sizes.of(values(1))) > MostParts)
      throw new LimitExceeded(s"`$name` would split the string into too many parts; shorten the string")

  /** Whether Spark compares each element with each, because their type has no equality that Spark could hash. */
  private def comparesAll(call: Expression): Boolean = !call.childrenResolved || (call.children.head.dataType match {
    case ArrayType(element, _) => !TypeUtils.typeWithProperEquals(element)
    case _ => true
  })

  private def pairs: Rule = (name, values) => {
    val elements = values.collect { case array: ArrayData => array.numElements().toLong }.sum
    if (elements * elements > SlowestPairs)
      throw new LimitExceeded(s"`$name` would compare $elements array elements with each other; use smaller arrays, or explode them into rows")
  }

  private def entries(name: String, logarithm: Any): Unit =
    if (whole(logarithm) > LargestSketch)
      throw new LimitExceeded(s"the argument `lgNomEntries` of `$name` is above $LargestSketch; use at most $LargestSketch")

  private def options(name: String, given: Map[String, String]): Unit =
    given.find(_._2.length > LongestOption).foreach { case (key, _) =>
      throw new LimitExceeded(s"the option `$key` of `$name` has more than $LongestOption characters; shorten it")
    }

  /**
   * Return the rule for a document: one with a few bytes for each struct becomes as many rows as it has structs, each with all
   * fields.
   */
  private def fields(wide: Long, begins: Char): Rule = (name, values) => values(0) match {
    case text: UTF8String if Sizes.times(text.numBytes, wide) > MostParsed =>
      val structs = text.getBytes.count(_ == begins)
      if (Sizes.times(structs, wide) > MostParsed)
        throw new LimitExceeded(s"`$name` would parse one string into more than $MostParsed fields; use a schema with fewer fields, or divide the string into several rows first, for example with `explode(split(...))`")
    case _ =>
  }

  private def width(kind: DataType): Long = kind match {
    case struct: StructType => struct.size + struct.map(field => width(field.dataType)).sum
    case array: ArrayType => width(array.elementType)
    case map: MapType => width(map.keyType) + width(map.valueType)
    case _ => 1
  }

  /** Whether a struct or a map has one wide value several times, or many wide values. */
  private def repeats(made: Expression): Boolean = {
    val wide = parts(made).filterNot(part => !part.resolved || SizedFunctions.isNarrow(part.dataType) || part.isInstanceOf[Literal])
    wide.size > Short || wide.map(_.canonicalized).distinct.size < wide.size
  }

  private def parts(made: Expression): Seq[Expression] = made match {
    case struct: CreateNamedStruct => struct.valExprs.flatMap(parts)
    case map: CreateMap => map.children.flatMap(parts)
    case other => Seq(other)
  }

  private def replaced(values: Array[Any]): Long = {
    val (all, one) = (Sizes.of(values(0)), Sizes.of(values(1)))
    if (one == 0) all else all + Sizes.times(all / one, Sizes.of(values(2)))
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
