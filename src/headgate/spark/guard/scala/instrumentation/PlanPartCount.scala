package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor

/**
 * The parts that plans are made of: nodes, expressions and types. A rule of Spark may make very many of them without a look
 * at an interruption; so every constructor of a part has it counted.
 */
final class PlanPartCount extends ClassChange(PlanPartCount.classes) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "<init>") inner
    else ClassChange.atEnd(inner)(ClassChange.call(_, "limits/PlanParts", "count", "()V"))
}

private object PlanPartCount {
  private val classes = Set("catalyst.trees.TreeNode", "types.StructType", "types.StructField").map("org.apache.spark.sql." + _)
}
