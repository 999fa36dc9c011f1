package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/** Counts the result of a task where the driver decides whether to fetch it. */
final class TaskResults extends ClassChange(Set("org/apache/spark/scheduler/TaskSetManager")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "canFetchMoreResults") inner
    else ClassChange.callAtBegin(inner, "memory/ResultMemory", "fetch", "(Ljava/lang/Object;J)V", Opcodes.ALOAD -> 0, Opcodes.LLOAD -> 1)
}
