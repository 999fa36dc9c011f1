package io.headgate.guard

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * The parts that plans are made of: nodes, expressions and types. A rule of Spark may make very many of them, and looks at
 * no interruption meanwhile; so each that is made does.
 */
final class PlanNodes extends ClassChange(PlanNodes.classes) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method == "<init>") new PlanNodes.Checking(inner) else inner
}

private object PlanNodes {
  private val classes = Set("catalyst.trees.TreeNode", "types.StructType", "types.StructField").map("org.apache.spark.sql." + _)

  private final class Checking(inner: MethodVisitor) extends MethodVisitor(Opcodes.ASM9, inner) {
    override def visitInsn(code: Int): Unit = {
      if (code == Opcodes.RETURN) super.visitMethodInsn(Opcodes.INVOKESTATIC, "io/headgate/guard/Interruption", "checkNode", "()V", false)
      super.visitInsn(code)
    }
  }
}
