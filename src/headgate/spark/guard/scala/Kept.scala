package io.headgate.guard

import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MapPartitions}
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.streaming.sources.{MemoryPlan, MemorySink}

/**
 * What stays in the driver after a table was read - a checkpoint, a stream's memory, the view of a table's changes -
 * and what it took to read it. No name leads back to the table, so that is remembered, and asked for at every use.
 */
object Kept {
  private val known = Collections.synchronizedMap(new WeakHashMap[AnyRef, Set[Need]])

  def needs(plan: LogicalPlan): Seq[Need] = plan match {
    case MemoryPlan(sink, _) if !known.containsKey(sink) && sink.allData.isEmpty => Nil // its query has not been started yet
    case MemoryPlan(sink, _) => found(sink)
    case rows: LogicalRDD => found(rows.rdd)
    case map: MapPartitions => found(map.func)
    case _ => Refuse.node(plan)
  }

  /** What a checkpoint took, if these rows are one. */
  def of(rows: LogicalRDD): Option[Set[Need]] = Option(known.get(rows.rdd))

  /** Remembers rows that a thread has just made of what its last statement was allowed. */
  def made(plan: LogicalPlan, last: Option[Set[Need]]): Unit = (plan, last) match {
    case (rows: LogicalRDD, Some(needs)) => known.putIfAbsent(rows.rdd, needs)
    case _ =>
  }

  /** Remembers a function over the rows of a table that a procedure of Iceberg's left in a view of the session. */
  def left(map: MapPartitions, table: Seq[String]): Unit = known.put(map.func, Need.of("read", Target.Relation(table)).toSet)

  /** Remembers what a streaming query needs whose rows stay in memory. */
  def started(plan: LogicalPlan, needs: Set[Need]): Unit = plan match {
    case start: WriteToStreamStatement if start.sink.isInstanceOf[MemorySink] => known.put(start.sink, needs)
    case _ =>
  }

  private def found(rows: AnyRef): Seq[Need] =
    Option(known.get(rows)).getOrElse(Refuse.because("it is not known where these rows or this function come from")).toSeq
}
