package io.headgate.guard.policy

import org.apache.spark.sql.catalyst.trees.TreeNode

/**
 * Refusals that the guard makes without the decision service. A message names only what the statement contains, never what
 * exists in the lake.
 */
object Refusal {
  private val Alternatives = Map(
    "AddJarsCommand" -> "Headgate loads no jars; use built-in functions, or functions with a body in SQL",
    "ScriptTransformation" -> "`TRANSFORM`, `MAP` and `REDUCE ... USING` start a program; use functions in SQL, or `toPandas()` and the program on your own machine",
    "SetNamespaceLocation" -> "Headgate chooses where the tables of a database are stored; leave the location out",
  ).withDefaultValue("Headgate allows only reviewed operations; rewrite the statement or DataFrame without it")

  def node(node: TreeNode[_]): Nothing = {
    val name = node.getClass.getSimpleName.stripSuffix("$")
    throw new AccessDenied(s"the Spark operation `$name` is refused: ${Alternatives(name)}")
  }

  def because(reason: String): Nothing = throw new AccessDenied(reason)
}
