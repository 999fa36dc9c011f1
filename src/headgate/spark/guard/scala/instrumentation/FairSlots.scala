package io.headgate.guard.instrumentation

import java.util.concurrent.atomic.AtomicLong

import scala.collection.StringOps
import scala.collection.concurrent.TrieMap

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * Where Spark decides which pool gets the next slot, and counts the tasks of a pool. Of pools that have equally many tasks it
 * serves the first in the alphabet: as many principals as there are slots would keep all others from theirs, each taking back
 * the slot that its last task has left.
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

  /** The number of the last slot that each pool got. Spark keeps the pools themselves as long. */
  private val served = TrieMap.empty[String, Long]
  private val slots = new AtomicLong

  /** A pool gets a slot. */
  def serve(pool: String): Unit = served(pool) = slots.incrementAndGet()

  /**
   * Whether the pool `one` gets a slot before `other`, which has as many tasks: it was served less recently, or never.
   * `receiver` is the object whose comparison of texts Spark calls there.
   */
  def isBefore(receiver: StringOps.type, one: String, other: String): Boolean = {
    val (first, second) = (served.getOrElse(one, 0L), served.getOrElse(other, 0L))
    first < second || first == second && one < other
  }
}
