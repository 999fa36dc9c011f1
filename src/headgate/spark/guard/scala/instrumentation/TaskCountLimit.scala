package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/** Where Spark adds up or multiplies partitions, each of which is a task: it makes all of them at once in the driver. */
final class TaskCountLimit extends ClassChange(Set("UnionRDD", "CartesianRDD").map("org.apache.spark.rdd." + _)) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "getPartitions") inner
    else ClassChange.callAtBegin(inner, "limits/TaskLimit", "require", "(Lorg/apache/spark/rdd/RDD;)V", Opcodes.ALOAD -> 0)
}
