package org.apache.spark

import org.apache.spark.rpc.{RpcCallContext, RpcEnv, ThreadSafeRpcEndpoint}
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.IsExecutorAlive
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend

/**
 * Replaces the scheduler of a cluster where there is no cluster. If a task misses the files of a shuffle, Spark treats
 * everything that the executor has stored as lost. The executor registers again only if a scheduler with this name answers that
 * it is alive.
 */
private final class LocalScheduler(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
  override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
    case IsExecutorAlive(executor) => context.reply(executor == SparkContext.DRIVER_IDENTIFIER)
  }
}

object LocalScheduler {
  def begin(spark: SparkContext): Unit =
    if (spark.isLocal) spark.env.rpcEnv.setupEndpoint(CoarseGrainedSchedulerBackend.ENDPOINT_NAME, new LocalScheduler(spark.env.rpcEnv))
}
