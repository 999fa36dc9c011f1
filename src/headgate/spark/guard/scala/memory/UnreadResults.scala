package org.apache.spark.sql.connect.service

import java.lang.reflect.Method

/**
 * The results of statements that Spark keeps in the driver until their clients have read them. The file is in this package
 * because Spark's classes are private to it.
 */
object UnreadResults {
  /**
   * `made` is the bytes of a statement's result that Spark has made ready to be read, `kept` those of them that it still has.
   */
  final case class Result(made: Long, kept: Long)

  private val observer = classOf[ExecuteHolder].getMethod("responseObserver")
  private val total = counter("totalSize")
  private val present = counter("cachedSizeUntilLastProduced")
  private val bytes = opened(total.getReturnType.getMethod("bytes"))

  /** Return the results by the ids of their operations. */
  def all: Map[String, Result] = SparkConnectService.executionManager.listExecuteHolders.map(holder => holder.operationId -> of(holder)).toMap

  /**
   * Return the result of an operation. If a client cannot reattach to it, Spark passes the result to the network as it is made,
   * and does not wait until it is sent; so all of it counts as kept.
   */
  private def of(holder: ExecuteHolder): Result = {
    val made = read(total, holder)
    Result(made, if (holder.reattachable) read(present, holder) else made)
  }

  /**
   * Return the bytes of a counter, by reflection: the compiler does not know the class of the observer, which refers to classes
   * that Spark has renamed.
   */
  private def read(counter: Method, holder: ExecuteHolder): Long = bytes.invoke(counter.invoke(observer.invoke(holder))).asInstanceOf[Long]

  private def counter(name: String): Method = opened(observer.getReturnType.getDeclaredMethod(name))

  private def opened(method: Method): Method = {
    method.setAccessible(true)
    method
  }
}
