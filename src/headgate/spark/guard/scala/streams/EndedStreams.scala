package org.apache.spark.sql.connect.service

import java.util.concurrent.ConcurrentMap

import scala.jdk.CollectionConverters._

import io.headgate.guard.driver.ReceivedRequests
import io.headgate.guard.streams.ActiveStreams
import org.apache.spark.sql.connect.service.SparkConnectStreamingQueryCache.{QueryCacheKey, QueryCacheValue}

/**
 * Limits of the memory for streams that have ended. Spark keeps each with its plans for an hour, for a client that asks how it
 * ended. Those that no client has asked about for the longest time, and among several the largest, are removed before they take
 * much memory. The file is in this package because Spark's classes are private to it.
 */
object EndedStreams {
  private val heap = Runtime.getRuntime.maxMemory
  private val OfPrincipal = heap / 16
  private val Overall = heap / 8

  private final case class Ended(key: QueryCacheKey, principal: String, expires: Long, bytes: Long)

  /** Remove the ended streams that exceed the limits from those that Spark keeps. */
  def makeRoom(kept: ConcurrentMap[QueryCacheKey, QueryCacheValue]): Unit = {
    val latest = kept.asScala.toSeq.collect { case (key, value) if !value.query.isActive => ended(key, value) }.sortBy(each => (-each.expires, each.bytes))
    val tooMany = latest.groupBy(_.principal).values.flatMap(beyond(_, OfPrincipal)).toSet
    (tooMany ++ beyond(latest.filterNot(tooMany), Overall)).foreach(each => kept.remove(each.key))
  }

  /** Return an ended stream. Spark sets its time of expiry a while after its end. */
  private def ended(key: QueryCacheKey, value: QueryCacheValue): Ended =
    Ended(key, ReceivedRequests.principal(value.userId), value.expiresAtMs.getOrElse(Long.MaxValue), ActiveStreams.bytes(value.query))

  /** Return the streams that follow those with `most` bytes together. */
  private def beyond(streams: Seq[Ended], most: Long): Seq[Ended] =
    streams.zip(streams.scanLeft(0L)(_ + _.bytes).tail).collect { case (stream, sum) if sum > most => stream }
}
