package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * Limits the tasks of unions and products. Spark adds up or multiplies their partitions, each of which is a task, and creates
 * all tasks at once in the driver.
 */
final class TaskCountLimit extends ClassChange(Set("UnionRDD", "CartesianRDD").map("org.apache.spark.rdd." + _)) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "getPartitions") inner
    else ClassChange.callAtBegin(inner, "limits/TaskLimit", "require", "(Lorg/apache/spark/rdd/RDD;)V", Opcodes.ALOAD -> 0)
}
