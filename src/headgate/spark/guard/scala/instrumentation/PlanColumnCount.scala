package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes, Type}

/** Counts the columns of nodes. Each star gives a node all the columns below it, and creates no new part of a plan. */
final class PlanColumnCount extends ClassChange(Set("Project", "Aggregate").map("org.apache.spark.sql.catalyst.plans.logical." + _)) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "<init>") inner
    else ClassChange.atEnd(inner) { visitor =>
      Type.getArgumentTypes(kind).zipWithIndex.foreach { case (argument, before) =>
        if (argument.getDescriptor == ClassChange.Several) {
          visitor.visitVarInsn(Opcodes.ALOAD, 1 + before)
          ClassChange.call(visitor, "limits/PlanParts", "count", s"(${ClassChange.Several})V")
        }
      }
    }
}
