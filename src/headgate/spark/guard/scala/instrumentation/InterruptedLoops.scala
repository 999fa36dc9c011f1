package io.headgate.guard.instrumentation

import scala.collection.mutable

import io.headgate.guard.policy.AllowLists
import org.apache.xbean.asm9.{Label, MethodVisitor, Opcodes}

/**
 * Interruption checks in classes of Spark whose loops may take minutes for one value: a set whose elements collide, a histogram
 * of many bins. Each turn of such a loop has a check. So has each rating from which `ALS` computes the factors of a block.
 */
final class InterruptedLoops extends ClassChange(AllowLists.of("interrupted-loops")) {
  /** Return the visitor of a method. Spark has one compiled method for each kind of number, with the name `method$kind`. */
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (InterruptedLoops.Methods(method) || InterruptedLoops.Methods(method.takeWhile(_ != '$'))) asking(inner) else inner

  private def asking(inner: MethodVisitor): MethodVisitor = new MethodVisitor(Opcodes.ASM9, inner) {
    private val passed = mutable.Set.empty[Label]

    override def visitLabel(label: Label): Unit = {
      passed += label
      super.visitLabel(label)
    }

    /** A jump back begins the next turn. */
    override def visitJumpInsn(code: Int, to: Label): Unit = {
      if (passed(to)) ClassChange.call(inner, "limits/Interruption", "check", "()V")
      super.visitJumpInsn(code, to)
    }
  }
}

private object InterruptedLoops {
  private val Methods = Set("addWithoutResize", "getPos", "rehash", "trim", "$anonfun$computeFactors$4")
}
