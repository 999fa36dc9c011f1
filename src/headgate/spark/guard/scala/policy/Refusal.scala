package io.headgate.guard.policy

import org.apache.spark.sql.catalyst.trees.TreeNode

/** Refusals that need no question. They name what was written, never what exists. */
object Refusal {
  def node(node: TreeNode[_]): Nothing =
    throw new AccessDenied(s"`${node.getClass.getSimpleName.stripSuffix("$")}` is not among the operations Headgate allows")

  def because(reason: String): Nothing = throw new AccessDenied(reason)
}
