package io.headgate.guard.policy

import io.headgate.guard.expressions.CheckedSketch
import io.headgate.guard.limits.CopiedArguments
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry.FunctionBuilder
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, SimpleFunctionRegistryBase, TableFunctionRegistry}
import org.apache.spark.sql.catalyst.expressions.{CreateMap, ExprUtils, Expression, NamedArgumentExpression}
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData
import org.apache.spark.unsafe.types.UTF8String

/**
 * The registries of built-in functions in this JVM, limited to reviewed functions.
 *
 * Spark evaluates some arguments during analysis: a schema, its options, and every constant in them. It also looks up functions
 * in ways that no rule sees: by a computed name, or in the default of a column. Every way ends at this registry. So it holds no
 * other functions, and those that parse text check the text first.
 */
object ReviewedFunctions {
  private type Rule = Expression => Expression

  private val rules: Map[String, Seq[(Int, Rule)]] = AllowLists.lines("function-arguments").map(_.split("\\s+").toSeq).map {
    case Seq(name, position, kind) => name -> (position.toInt, rule(kind))
    case line => throw new IllegalStateException(s"Headgate's own file function-arguments.txt is damaged: the line `${line.mkString(" ")}` does not have the columns function, position and kind; install Headgate again")
  }.groupMap(_._1)(_._2)

  /** Limit the registries of this JVM to reviewed functions. Called once, before Spark starts. */
  def install(): Unit = {
    limit(FunctionRegistry.builtin, "function", AllowLists.functions)
    limit(TableFunctionRegistry.builtin, "table function", AllowLists.tableFunctions)
    rules.foreach { case (name, rules) => guard(name, rules) }
    FunctionRegistry.builtin.listFunction().map(_.funcName).filter(AllowLists.functions).foreach(bound)
  }

  /** Replace each function that is not on the list by one that has the same name and refuses to be built. */
  private def limit[T](registry: SimpleFunctionRegistryBase[T], what: String, list: Set[String]): Unit =
    registry.listFunction().filterNot(id => list(id.funcName)).foreach { id =>
      val refused = (_: Seq[Expression]) => Refusal.because(s"the $what `${id.funcName}` is refused: Headgate allows only reviewed ${what}s; use another $what, or leave it out")
      registry.registerFunction(id, registry.lookupFunction(id).get, refused)
    }

  private def guard(name: String, rules: Seq[(Int, Rule)]): Unit = rebuild(name)(builder => arguments => {
    if (arguments.exists(_.isInstanceOf[NamedArgumentExpression])) Refusal.because(s"the function `$name` is called with named arguments; pass the arguments by position")
    builder(rules.foldLeft(arguments) { case (done, (position, rule)) => done.lift(position).fold(done)(argument => done.updated(position, rule(argument))) })
  })

  private def bound(name: String): Unit = rebuild(name)(builder => arguments => CopiedArguments.check(builder(arguments), arguments))

  private def rebuild(name: String)(change: FunctionBuilder => FunctionBuilder): Unit = {
    val (registry, id) = (FunctionRegistry.builtin, FunctionIdentifier(name))
    registry.registerFunction(id, registry.lookupFunction(id).get, change(registry.lookupFunctionBuilder(id).get))
  }

  private def rule(kind: String): Rule = kind.split(":", 2) match {
    case Array("schema") => passing(schema)
    case Array("options", format) => passing(options(format, _))
    case Array("sketch", format) => CheckedSketch.of(_, format)
  }

  private def passing(check: Expression => Unit): Rule = argument => {
    check(argument)
    argument
  }

  /**
   * Check the text of a schema. A constant is evaluated here as Spark would evaluate it; Spark itself refuses any other
   * argument.
   */
  private def schema(argument: Expression): Unit = if (argument.foldable) ExprUtils.prepareForEval(argument).eval() match {
    case text: UTF8String => DataTypes.checkText(text.toString)
    case _ =>
  }

  private def options(format: String, argument: Expression): Unit = argument match {
    case map: CreateMap if map.foldable => map.eval() match {
      case data: ArrayBasedMapData => FunctionOptions.check(format, ArrayBasedMapData.toScalaMap(data).map { case (key, value) => s"$key" -> s"$value" }.toMap)
      case _ =>
    }
    case _ => Refusal.because(s"the options of a $format function are not a map of literals; write them as `map('key', 'value')`")
  }
}
