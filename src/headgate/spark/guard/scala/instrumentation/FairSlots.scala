package io.headgate.guard.instrumentation

import java.util.concurrent.atomic.AtomicLong

import scala.collection.StringOps
import scala.collection.concurrent.TrieMap

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * Fair order of pools with the same number of tasks. Among these, Spark gives the next slot to the first in the alphabet. Then
 * as many principals as there are slots would starve all others, because each takes the slot again that its last task has left.
 * This change counts the slots that pools get, and prefers the pool that was served less recently.
 */
final class FairSlots extends ClassChange(Set("FairSchedulingAlgorithm", "Pool").map("org.apache.spark.scheduler." + _)) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = method match {
    case "comparator" => ClassChange.atCalls(inner) { (call, stays) =>
      if (call.method == "$less$extension") ClassChange.call(inner, "instrumentation/FairSlots", "isBefore", FairSlots.IsBefore) else stays()
    }
    case "increaseRunningTasks" => ClassChange.atBegin(inner)(count)
    case _ => inner
  }

  private def count(visitor: MethodVisitor): Unit = {
    visitor.visitVarInsn(Opcodes.ALOAD, 0)
    visitor.visitMethodInsn(Opcodes.INVOKEVIRTUAL, "org/apache/spark/scheduler/Pool", "name", s"()${ClassChange.Text}", false)
    ClassChange.call(visitor, "instrumentation/FairSlots", "serve", s"(${ClassChange.Text})V")
  }
}

object FairSlots {
  private val IsBefore = s"(Lscala/collection/StringOps$$;${ClassChange.Text}${ClassChange.Text})Z"

  /** The number of the last slot that each pool got. An entry is kept for as long as Spark keeps the pool. */
  private val served = TrieMap.empty[String, Long]
  private val slots = new AtomicLong

  /** Record that a pool gets a slot. */
  def serve(pool: String): Unit = served(pool) = slots.incrementAndGet()

  /**
   * Whether the pool `one` gets a slot before `other`, which has the same number of tasks: it was served less recently, or
   * never. `receiver` is the object on which Spark calls the comparison of texts that this replaces.
   */
  def isBefore(receiver: StringOps.type, one: String, other: String): Boolean = {
    val (first, second) = (served.getOrElse(one, 0L), served.getOrElse(other, 0L))
    first < second || first == second && one < other
  }
}
