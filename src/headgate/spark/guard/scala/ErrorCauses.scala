package io.headgate.guard

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * Has a client hear the guard's error where Spark wraps it in one of its own, such as that of a constructor called by reflection,
 * and Spark keep for the client's next question only errors that are small.
 */
final class ErrorCauses extends ClassChange(Set("org/apache/spark/sql/connect/utils/ErrorUtils$")) {
  import ErrorCauses._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "buildStatusFromThrowable") inner
    else new MethodVisitor(Opcodes.ASM9, ClassChange.replaceArgument(inner, 1, "Causes", "told", s"($Error)$Error", 1)) {
      override def visitMethodInsn(code: Int, owner: String, name: String, kind: String, isInterface: Boolean): Unit =
        if (owner == Cache && name == "put") ClassChange.call(inner, "Causes", "keep", s"(L$Cache;${kind.drop(1)}")
        else super.visitMethodInsn(code, owner, name, kind, isInterface)
    }
}

private object ErrorCauses {
  private val Error = "Ljava/lang/Throwable;"
  private val Cache = "org/sparkproject/guava/cache/Cache"
}
