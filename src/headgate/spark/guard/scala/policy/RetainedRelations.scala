package io.headgate.guard.policy

import java.util.concurrent.ConcurrentMap

import com.google.common.collect.MapMaker
import io.headgate.guard.client.StatementContext
import io.headgate.guard.memory.SessionMemory
import org.apache.spark.sql.catalyst.analysis.{ResolvedIdentifier, ResolvedInlineTable, ResolvedNamespace, ResolvedTempView}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.command.CreateSQLFunctionCommand
import org.apache.spark.sql.execution.streaming.sources.{MemoryPlan, MemorySink}

/**
 * What stays in the driver after a table was read - a checkpoint, a stream's memory, a temporary view, the view of a
 * table's changes - and what it took to read it. No name leads back to the table, or not to each, so that is remembered,
 * and asked for at every use.
 */
object RetainedRelations {
  /** By the object itself: what is equal to it may have been made of something else. */
  private val known: ConcurrentMap[AnyRef, Set[RequiredPrivilege]] = new MapMaker().weakKeys().makeMap[AnyRef, Set[RequiredPrivilege]]()

  def needs(plan: LogicalPlan): Seq[RequiredPrivilege] = plan match {
    case MemoryPlan(sink, _) if !known.containsKey(sink) && sink.allData.isEmpty => Nil // its query has not been started yet
    case MemoryPlan(sink, _) => found(sink)
    case rows: LogicalRDD => found(rows.rdd)
    case map: MapPartitions => found(map.func)
    case view: View => if (view.isTempView) found(view.desc) else Nil
    case view: ResolvedTempView => found(view.metadata)
    case _ => Refusal.node(plan)
  }

  /** What a checkpoint took, if these rows are one. */
  def of(rows: LogicalRDD): Option[Set[RequiredPrivilege]] = Option(known.get(rows.rdd))

  /**
   * Remembers rows that an operation has just made of what it was allowed. Refuses those of an operation that has read
   * something and needed nothing: whatever it read must be asked for again. Refuses a function that an operation creates
   * after it has read something: the text of the function can hold a value, and Spark keeps nothing else of it.
   */
  def made(plan: LogicalPlan, by: Option[StatementContext.Accumulated]): Unit = (plan, by) match {
    case (rows: LogicalRDD, Some(_)) if known.containsKey(rows.rdd) =>
    case (_: LogicalRDD, Some(accumulated)) if accumulated.reads && accumulated.needs.isEmpty => Refusal.because(Unknown)
    case (_: CreateSQLFunctionCommand, Some(accumulated)) if accumulated.needs.nonEmpty => Refusal.because(Function)
    case (rows: LogicalRDD, Some(accumulated)) => known.putIfAbsent(rows.rdd, accumulated.needs)
    case _ =>
  }

  /** Remembers rows that nothing has to be asked for: a statement has computed them for itself. */
  def computed(rows: LogicalRDD): Unit = known.put(rows.rdd, Set.empty)

  /** Whether a node gives rows that something stands behind: not values of the statement's own. */
  def isRead(node: PlanTraversal.Node): Boolean = node match {
    case _: LocalRelation | _: OneRowRelation | _: Range | _: CTERelationRef | _: UnionLoopRef | _: EmptyRelation | _: Command | _: CommandResult => false
    case _: ResolvedIdentifier | _: ResolvedNamespace | _: ResolvedTempView | _: ResolvedInlineTable => false
    case rows: LogicalRDD => !of(rows).exists(_.isEmpty)
    case MemoryPlan(sink, _) => !Option(known.get(sink)).exists(_.isEmpty)
    case _: LeafNode => true
    case _ => false
  }

  /** Remembers a function over the rows of a table that a procedure of Iceberg's left in a view of the session. */
  def left(map: MapPartitions, table: Seq[String]): Unit = known.put(map.func, RequiredPrivilege.of("read", Target.Relation(table)).toSet)

  /** Remembers what a streaming query needs whose rows stay in memory. */
  def started(plan: LogicalPlan, needs: Set[RequiredPrivilege]): Unit = plan match {
    case start: WriteToStreamStatement => start.sink match {
      case sink: MemorySink =>
        known.put(sink, needs)
        SessionMemory.keepSink(sink)
      case _ =>
    }
    case _ =>
  }

  /** Remembers what it took to create a temporary view: rows can be in its plan, and values in its text. */
  def created(view: CatalogTable, needs: Set[RequiredPrivilege]): Unit = known.put(view, needs)

  private def found(rows: AnyRef): Seq[RequiredPrivilege] =
    Option(known.get(rows)).getOrElse(Refusal.because(Unknown)).toSeq

  private val Function = "a function cannot be created by a statement that has read something before; create it in a statement of its own"
  private val Unknown = "it is not known where these rows or this function come from; read the table again"
}
