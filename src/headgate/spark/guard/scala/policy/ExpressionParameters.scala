package io.headgate.guard.policy

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.types.{DataType, Metadata, StructField, StructType}

/**
 * Checks of the constructor parameters of expressions that are not expressions themselves: options, types, names, classes. Each
 * parameter of a reviewed class has an entry in `expression-parameters.txt`; a value without one is refused.
 */
object ExpressionParameters {
  private type Rule = (Expression, Any) => Unit
  private final case class Parameter(value: Expression => Any, rule: Rule)

  private val Every = "*"
  private val Common = "org.apache.spark.sql.catalyst.expressions."

  private val entries: Map[(String, String), String] = AllowLists.lines("expression-parameters").map(_.split("\\s+").toSeq).map {
    case Seq(owner, name, _, rule) => (owner, name) -> rule
    case line => throw new IllegalStateException(s"Headgate's own file expression-parameters.txt is damaged: the line `${line.mkString(" ")}` does not have the columns class, parameter, type and rule; install Headgate again")
  }.toMap

  private val known = new ConcurrentHashMap[Class[_], Seq[Parameter]]

  /** Throw `AccessDenied` unless every parameter of the expression may have its value. */
  def check(expression: Expression): Unit =
    known.computeIfAbsent(expression.getClass, _ => parameters(expression)).foreach(each => each.rule(expression, each.value(expression)))

  private def parameters(expression: Expression): Seq[Parameter] = {
    val owner = expression.getClass.getName.stripSuffix("$").stripPrefix(Common)
    val names = expression.productElementNames.toSeq
    val own = names.zipWithIndex.map { case (name, index) => Parameter(_.productElement(index), rule(owner, name)) }
    val further = entries.collect { case ((`owner`, name), rule) if !names.contains(name) => second(expression.getClass, name, named(rule)) }
    (own ++ further).filterNot(_.rule eq safe)
  }

  /** Return a parameter of a second parameter list, which is no element of the case class. */
  private def second(of: Class[_], name: String, rule: Rule): Parameter = {
    val method = of.getMethod(name)
    Parameter(method.invoke(_), rule)
  }

  private def rule(owner: String, name: String): Rule =
    entries.get((owner, name)).orElse(entries.get((Every, name))).fold(onlyNodes)(named)

  private def named(rule: String): Rule = rule.split(":", 2) match {
    case Array("safe" | "limited") => safe
    case Array("type") => each {
      case of: DataType => DataTypes.check(of)
      case field: StructField => DataTypes.check(StructType(Seq(field)))
    }
    case Array("schema") => each { case of: DataType => DataTypes.checkWritten(of) }
    case Array("function") => (expression, value) => if (!SparkFunctions.isOwn(value)) Refusal.node(expression)
    case Array("class") => (expression, value) => value match {
      case of: Class[_] if SparkFunctions.isOwnClass(of) =>
      case _ => Refusal.node(expression)
    }
    case Array("metadata") => each { case of: Metadata => DataTypes.requireLiterals(of) }
    case Array("options", format) => each {
      case options: Map[_, _] => FunctionOptions.check(format, options.map { case (key, value) => s"$key" -> s"$value" })
    }
  }

  private val safe: Rule = (_, _) => ()

  /** Accepts only expressions and plans, which the guard checks as nodes of their own. */
  private val onlyNodes: Rule = (expression, value) => if (!isNodes(value)) Refusal.node(expression)

  private def isNodes(value: Any): Boolean = value match {
    case _: TreeNode[_] => true
    case many: Iterable[_] => many.forall(isNodes)
    case some: Option[_] => some.forall(isNodes)
    case (left, right) => isNodes(left) && isNodes(right)
    case _ => false
  }

  /** Return the rule that applies `check` to a value, or to each value in a sequence or an option. */
  private def each(check: PartialFunction[Any, Unit]): Rule = {
    def on(value: Any): Unit = value match {
      case one if check.isDefinedAt(one) => check(one)
      case many: Iterable[_] => many.foreach(on)
      case some: Option[_] => some.foreach(on)
      case _ =>
    }
    (_, value) => on(value)
  }
}
