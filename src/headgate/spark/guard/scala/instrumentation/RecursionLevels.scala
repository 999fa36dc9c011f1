package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor

/** Counts each level of a recursive query before Spark computes it, and records the rows that Spark keeps of it. */
final class RecursionLevels extends ClassChange(Set(RecursionLevels.Loop, s"${RecursionLevels.Loop}$$$$anonfun$$2")) {
  import RecursionLevels._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = method match {
    case "executeAndCacheAndCount" => ClassChange.replaceArgument(inner, 1, "limits/RecursionLimit", "counted", s"(L$Loop;$Plan)$Plan", 0, 1)
    case "applyOrElse" => ClassChange.atCalls(inner) { (called, itself) =>
      itself()
      if (called.method == "fromDataset") ClassChange.call(inner, "limits/RecursionLimit", "known", s"($Rows)$Rows")
    }
    case _ => inner
  }
}

private object RecursionLevels {
  private val Loop = "org/apache/spark/sql/execution/UnionLoopExec"
  private val Plan = "Lorg/apache/spark/sql/catalyst/plans/logical/LogicalPlan;"
  private val Rows = "Lorg/apache/spark/sql/execution/LogicalRDD;"
}
