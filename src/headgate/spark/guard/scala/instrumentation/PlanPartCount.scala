package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor

/**
 * Counts the parts of plans: nodes, expressions and types. A rule of Spark may create very many of them without an interruption
 * check, so every constructor of a part counts it.
 */
final class PlanPartCount extends ClassChange(PlanPartCount.classes) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "<init>") inner
    else ClassChange.atEnd(inner)(ClassChange.call(_, "limits/PlanParts", "count", "()V"))
}

private object PlanPartCount {
  private val classes = Set("catalyst.trees.TreeNode", "types.StructType", "types.StructField").map("org.apache.spark.sql." + _)
}
