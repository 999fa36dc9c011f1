package io.headgate.guard.instrumentation

import java.util.ArrayDeque
import java.util.concurrent.{AbstractExecutorService, ConcurrentHashMap, ExecutorService, TimeUnit}

import io.headgate.guard.driver.OperationId
import org.apache.spark.sql.classic.SparkSession
import org.apache.xbean.asm9.MethodVisitor

/**
 * Limits the threads that one principal has at once in Spark's pools for subqueries, broadcasts and shuffles. Otherwise a user with
 * a few long subqueries would keep the subqueries of all others waiting.
 */
final class UserThreads extends ClassChange(Set(UserThreads.Execution)) {
  import UserThreads._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != Start) inner
    else ClassChange.replaceArgument(inner, 2, "instrumentation/UserThreads", "of", s"(L$Session;L$Threads;)L$Threads;", 1, 2)
}

object UserThreads {
  private val Execution = "org.apache.spark.sql.execution.SQLExecution$"
  private val Start = "withThreadLocalCaptured"
  private val Session = "org/apache/spark/sql/classic/SparkSession"
  private val Threads = "java/util/concurrent/ExecutorService"

  /** The classes whose companions have Spark's pools, each with the most threads of one principal. */
  private val Owners = Map("SubqueryExec" -> 16, "SubqueryBroadcastExec" -> 16, "exchange.BroadcastExchangeExec" -> 16, "exchange.ShuffleExchangeExec" -> 64)

  private lazy val limits: Map[ExecutorService, Int] = Owners.map { case (name, threads) =>
    val companion = Class.forName(s"org.apache.spark.sql.execution.$name$$")
    companion.getMethod("executionContext").invoke(companion.getField("MODULE$").get(null)).asInstanceOf[ExecutorService] -> threads
  }

  /** By the principal, and the pool of Spark. */
  private val shares = new ConcurrentHashMap[(String, ExecutorService), Share]

  /** Return the service that starts the work of the session's principal in a pool of Spark. */
  def of(session: SparkSession, pool: ExecutorService): ExecutorService = {
    val share = for (principal <- OperationId.ownerOfThread(session.sparkContext); threads <- limits.get(pool))
      yield shares.computeIfAbsent((principal, pool), _ => new Share(pool, threads))
    share.getOrElse(pool)
  }

  /** Starts work in a pool, and keeps further work waiting while the most threads are busy with it. */
  private final class Share(pool: ExecutorService, threads: Int) extends AbstractExecutorService {
    private val waiting = new ArrayDeque[Runnable]
    private var busy = 0

    override def execute(work: Runnable): Unit = synchronized {
      if (busy < threads) {
        busy += 1
        start(work)
      } else waiting.add(work)
    }

    private def start(work: Runnable): Unit = pool.execute(() => try work.run() finally finished())

    private def finished(): Unit = synchronized {
      Option(waiting.poll()).fold(busy -= 1)(start)
    }

    override def shutdown(): Unit = ()
    override def shutdownNow(): java.util.List[Runnable] = java.util.List.of()
    override def isShutdown: Boolean = false
    override def isTerminated: Boolean = false
    override def awaitTermination(time: Long, unit: TimeUnit): Boolean = false
  }
}
