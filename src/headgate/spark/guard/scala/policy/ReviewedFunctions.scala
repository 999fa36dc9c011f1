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
 * The built-in functions of this JVM, as far as they have been reviewed.
 *
 * Spark evaluates some arguments while it analyzes - a schema, the options beside it, whatever is constant in them - and
 * looks functions up in ways that no rule sees: by a computed name, or in the default of a column. Every way ends at
 * this registry, so it holds no other functions, and those that parse text look at it first.
 */
object ReviewedFunctions {
  private type Rule = Expression => Expression

  private val rules: Map[String, Seq[(Int, Rule)]] = AllowLists.lines("function-arguments").map(_.split("\\s+").toSeq).map {
    case Seq(name, position, kind) => name -> (position.toInt, rule(kind))
    case line => throw new IllegalStateException(s"`$line` in function-arguments.txt is not of its form")
  }.groupMap(_._1)(_._2)

  /** Makes the registries of this JVM hold reviewed functions only. Called once, before Spark starts. */
  def install(): Unit = {
    limit(FunctionRegistry.builtin, "function", AllowLists.functions)
    limit(TableFunctionRegistry.builtin, "table function", AllowLists.tableFunctions)
    rules.foreach { case (name, rules) => guard(name, rules) }
    FunctionRegistry.builtin.listFunction().map(_.funcName).filter(AllowLists.functions).foreach(bound)
  }

  /** A function that is on no list stays known by its name, and refuses to be built. */
  private def limit[T](registry: SimpleFunctionRegistryBase[T], what: String, list: Set[String]): Unit =
    registry.listFunction().filterNot(id => list(id.funcName)).foreach { id =>
      val refused = (_: Seq[Expression]) => Refusal.because(s"$what `${id.funcName}` is not among those Headgate allows")
      registry.registerFunction(id, registry.lookupFunction(id).get, refused)
    }

  private def guard(name: String, rules: Seq[(Int, Rule)]): Unit = rebuild(name)(builder => arguments => {
    if (arguments.exists(_.isInstanceOf[NamedArgumentExpression])) Refusal.because(s"function `$name` takes its arguments by position; leave their names out")
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

  /** What Spark would evaluate is evaluated here, with its own preparation; what it cannot evaluate it refuses itself. */
  private def schema(argument: Expression): Unit = if (argument.foldable) ExprUtils.prepareForEval(argument).eval() match {
    case text: UTF8String => DataTypes.checkText(text.toString)
    case _ =>
  }

  private def options(format: String, argument: Expression): Unit = argument match {
    case map: CreateMap if map.foldable => map.eval() match {
      case data: ArrayBasedMapData => FunctionOptions.check(format, ArrayBasedMapData.toScalaMap(data).map { case (key, value) => s"$key" -> s"$value" }.toMap)
      case _ =>
    }
    case _ => Refusal.because(s"the options of a $format function are written as `map('key', 'value')` with constants")
  }
}
