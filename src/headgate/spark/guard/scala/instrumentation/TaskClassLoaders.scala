package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor

/**
 * Prevents tasks from loading classes from the folder of their session, which never has code of a user. Spark would ask the
 * driver for each name that generated code might refer to. In the embedded driver that is the same JVM, and the thread that
 * answers may wait for the class loader that asks: a deadlock.
 */
final class TaskClassLoaders extends ClassChange(Set("org.apache.spark.executor.Executor")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "addReplClassLoaderIfNeeded") inner
    else ClassChange.replaceArgument(inner, 2, "instrumentation/TaskClassLoaders", "folderOfClasses", "()Lscala/Option;")
}

object TaskClassLoaders {
  /** Return the folder that a task loads classes from: none. Changed bytecode calls this. */
  def folderOfClasses(): Option[String] = None
}
