package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/** Lets each job wait for its turn before Spark creates its tasks (see `TaskTurns.scala`). */
final class JobSubmissions extends ClassChange(Set("org.apache.spark.scheduler.DAGScheduler")) {
  import JobSubmissions._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = method match {
    case "submitJob" => ClassChange.callAtBegin(inner, Turns, "take", s"(L$Rows;L$Partitions;L$Properties;)V", Opcodes.ALOAD -> 1, Opcodes.ALOAD -> 3, Opcodes.ALOAD -> 6)
    case "submitMapStage" => ClassChange.callAtBegin(inner, Turns, "takeShuffle", s"(L$Shuffle;L$Properties;)V", Opcodes.ALOAD -> 1, Opcodes.ALOAD -> 4)
    case _ => inner
  }
}

private object JobSubmissions {
  private val Turns = "scheduling/TaskTurns"
  private val Rows = "org/apache/spark/rdd/RDD"
  private val Partitions = "scala/collection/immutable/Seq"
  private val Shuffle = "org/apache/spark/ShuffleDependency"
  private val Properties = "java/util/Properties"
}
