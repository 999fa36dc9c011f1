package io.headgate.guard

import org.apache.xbean.asm9.MethodVisitor

/** Has a client hear the guard's error where Spark wraps it in one of its own, such as that of a constructor called by reflection. */
final class ErrorCauses extends ClassChange(Set("org/apache/spark/sql/connect/utils/ErrorUtils$")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "buildStatusFromThrowable") inner
    else ClassChange.replaceArgument(inner, 1, "Causes", "told", s"(${ErrorCauses.Error})${ErrorCauses.Error}", 1)
}

private object ErrorCauses {
  private val Error = "Ljava/lang/Throwable;"
}
