package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor

/**
 * Sends a client the guard's own error where Spark wraps it in another one, such as that of a constructor called by reflection.
 * Lets Spark keep only small errors for the client's request for details.
 */
final class ErrorCauses extends ClassChange(Set("org/apache/spark/sql/connect/utils/ErrorUtils$")) {
  import ErrorCauses._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "buildStatusFromThrowable") inner
    else ClassChange.atCalls(ClassChange.replaceArgument(inner, 1, "driver/ErrorChain", "ofGuard", s"($Error)$Error", 1)) {
      case (ClassChange.Call(Cache, "put", kind), _) => ClassChange.call(inner, "driver/ErrorChain", "keep", s"(L$Cache;${kind.drop(1)}")
      case (_, itself) => itself()
    }
}

private object ErrorCauses {
  private val Error = "Ljava/lang/Throwable;"
  private val Cache = "org/sparkproject/guava/cache/Cache"
}
