package io.headgate.guard.policy

import org.apache.spark.sql.catalyst.trees.TreeNode

/**
 * Refusals that the guard makes without the decision service. A message names only what the statement contains, never what
 * exists in the lake.
 */
object Refusal {
  def node(node: TreeNode[_]): Nothing =
    throw new AccessDenied(s"the Spark operation `${node.getClass.getSimpleName.stripSuffix("$")}` is refused: Headgate allows only reviewed operations; rewrite the statement or DataFrame without it")

  def because(reason: String): Nothing = throw new AccessDenied(reason)
}
