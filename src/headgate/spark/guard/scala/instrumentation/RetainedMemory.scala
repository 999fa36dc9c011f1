package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor
import org.apache.xbean.asm9.Opcodes.{ALOAD, GETFIELD, ILOAD, INVOKESTATIC}

/**
 * Memory checks before Spark keeps objects without a name for a session: frames, cached plans, functions, rows of streams, and
 * rows that a client sends.
 */
final class RetainedMemory extends ClassChange(Set(RetainedMemory.Sessions, RetainedMemory.Caches, RetainedMemory.Functions, RetainedMemory.Streams, RetainedMemory.Sink, RetainedMemory.Planner)) {
  import RetainedMemory._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = (method, kind) match {
    case ("<init>", Holder) => ClassChange.atEnd(inner) { visitor =>
      visitor.visitVarInsn(ALOAD, 0)
      ClassChange.call(visitor, Memory, "open", s"(L$Sessions;)V")
    }
    case ("cacheDataFrameById", _) => ClassChange.callAtBegin(inner, Memory, "keepFrame", s"($Frame)V", ALOAD -> 2)
    case ("cacheQueryInternal", _) => ClassChange.callAtBegin(inner, Memory, "keepCached", s"($Plan)V", ALOAD -> 3)
    case ("makeSQLFunctionBuilder" | "makeSQLTableFunctionBuilder", _) => ClassChange.callAtBegin(inner, Memory, "keepFunction", s"($Function)V", ALOAD -> 1)
    case ("registerNewStreamingQuery", _) => ClassChange.atBegin(inner) { visitor =>
      visitor.visitVarInsn(ALOAD, 0)
      visitor.visitFieldInsn(GETFIELD, Streams, "queryCache", Map)
      visitor.visitMethodInsn(INVOKESTATIC, s"$Service/EndedStreams", "makeRoom", s"($Map)V", false)
    }
    case ("write", Batch) => ClassChange.callAtBegin(inner, Memory, "keepRows", s"(L$Sink;Z$Rows)V", ALOAD -> 0, ILOAD -> 3, ALOAD -> 4)
    case (name, Copying) if name.startsWith("$anonfun$buildLocalRelationFromRows$") => ClassChange.callAtBegin(inner, "memory/LocalRows", "count", s"($Values)V", ALOAD -> 0)
    case _ => inner
  }
}

private object RetainedMemory {
  private val Service = "org/apache/spark/sql/connect/service"
  private val Sessions = s"$Service/SessionHolder"
  private val Streams = s"$Service/SparkConnectStreamingQueryCache"
  private val Caches = "org/apache/spark/sql/execution/CacheManager"
  private val Functions = "org/apache/spark/sql/catalyst/catalog/SessionCatalog"
  private val Sink = "org/apache/spark/sql/execution/streaming/sources/MemorySink"
  private val Planner = "org/apache/spark/sql/connect/planner/SparkConnectPlanner"
  private val Holder = "(Ljava/lang/String;Ljava/lang/String;Lorg/apache/spark/sql/classic/SparkSession;)V"
  private val Map = "Ljava/util/concurrent/ConcurrentMap;"
  private val Frame = "Lorg/apache/spark/sql/Dataset;"
  private val Plan = "Lorg/apache/spark/sql/catalyst/plans/logical/LogicalPlan;"
  private val Function = "Lorg/apache/spark/sql/catalyst/catalog/SQLFunction;"
  private val Rows = "[Lorg/apache/spark/sql/Row;"
  private val Batch = s"(JZ$Rows)V"
  private val Values = "Lorg/apache/spark/sql/catalyst/InternalRow;"
  private val Copying = s"($Values)$Values"
  private val Memory = "memory/SessionMemory"
}
