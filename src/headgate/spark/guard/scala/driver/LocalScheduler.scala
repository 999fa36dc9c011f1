package org.apache.spark

import org.apache.spark.rpc.{RpcCallContext, RpcEnv, ThreadSafeRpcEndpoint}
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.IsExecutorAlive
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend

/**
 * Answers in place of the scheduler of a cluster, where there is no cluster. A task that misses the files of a shuffle has Spark
 * take all that its executor has stored for lost; the executor registers again only if a scheduler of this name says that it is alive.
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
