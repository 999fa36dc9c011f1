package io.headgate.guard.policy

import java.util.concurrent.{ConcurrentHashMap, ConcurrentMap}

import scala.jdk.CollectionConverters._

import com.google.common.collect.MapMaker
import io.headgate.guard.client.StatementContext
import io.headgate.guard.memory.SessionMemory
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.analysis.{ResolvedIdentifier, ResolvedInlineTable, ResolvedNamespace, ResolvedTempView}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.command.CreateSQLFunctionCommand
import org.apache.spark.sql.execution.streaming.sources.{MemoryPlan, MemorySink}

/**
 * Relations that stay in the driver after a table was read (a checkpoint, a stream's rows in memory, a temporary view, the view
 * of a table's changes, a model and its summaries), each with the privileges that reading the table required. No name leads back
 * to the table, or not to every one. So the guard records these privileges, and requires them at every use.
 */
object RetainedRelations {
  /** Keys are compared by identity: an equal object may have been made from other data. */
  private val known: ConcurrentMap[AnyRef, Set[RequiredPrivilege]] = new MapMaker().weakKeys().makeMap[AnyRef, Set[RequiredPrivilege]]()

  /** The privileges of functions, by the handle of the principal that caused them. */
  private val functions: ConcurrentMap[AnyRef, ConcurrentMap[String, Set[RequiredPrivilege]]] =
    new MapMaker().weakKeys().makeMap[AnyRef, ConcurrentMap[String, Set[RequiredPrivilege]]]()

  def needs(plan: LogicalPlan, by: => Option[StatementContext.Accumulated]): Seq[RequiredPrivilege] = plan match {
    case MemoryPlan(sink, _) if !known.containsKey(sink) && sink.allData.isEmpty => Nil // its query has not been started yet
    case MemoryPlan(sink, _) => found(sink)
    case rows: LogicalRDD => found(rows.rdd)
    case rows: ExternalRDD[_] => found(rows.rdd)
    case cached: InMemoryRelation => found(cached)
    case map: MapPartitions if SparkFunctions.isOwn(map.func) => ofFunction(map.func, by)
    case map: MapPartitions => found(map.func)
    case map: MapElements if SparkFunctions.isOwn(map.func) => ofFunction(map.func, by)
    case view: View => if (view.isTempView) found(view.desc) else Nil
    case view: ResolvedTempView => found(view.metadata)
    case _ => Refusal.node(plan)
  }

  /** Return the privileges that a temporary view requires, from its definition. */
  def ofView(view: CatalogTable): Seq[RequiredPrivilege] = found(view)

  /** Return the privileges that creating a checkpoint required, if these rows are one. */
  def of(rows: RDD[_]): Option[Set[RequiredPrivilege]] = Option(known.get(rows))

  /** Return the privileges that making a model or a summary required. */
  def ofModel(model: AnyRef): Set[RequiredPrivilege] = found(model).toSet

  /**
   * Return the privileges that the operation had required that made a function of Spark's own: the function can hold a model. A
   * function that the guard sees for the first time from a principal was made by this operation. A function that holds nothing
   * is one object for all principals, and so has no privileges.
   */
  def ofFunction(function: AnyRef, by: => Option[StatementContext.Accumulated]): Seq[RequiredPrivilege] =
    if (SparkFunctions.holdsNothing(function)) Nil
    else by match {
      case Some(operation) => functions.computeIfAbsent(function, _ => new ConcurrentHashMap).computeIfAbsent(operation.asker, _ => operation.needs).toSeq
      case None => Option(functions.get(function)).toSeq.flatMap(_.values.asScala.flatten)
    }

  /**
   * Record the privileges of rows that an operation has just created. Refuse rows of an operation that has read data and
   * required no privilege: each later use must be decided again, and there would be nothing to decide. Refuse a function that
   * an operation creates after it has read data: the text of the function can hold a value, and Spark keeps nothing else of it.
   */
  def made(plan: LogicalPlan, by: Option[StatementContext.Accumulated]): Unit = (plan, by) match {
    case (rows: LogicalRDD, Some(accumulated)) => keep(rows.rdd, accumulated)
    case (SerializeFromObject(_, rows: ExternalRDD[_]), Some(accumulated)) => keep(rows.rdd, accumulated)
    case (_: CreateSQLFunctionCommand, Some(accumulated)) if accumulated.needs.nonEmpty => Refusal.because(Function)
    case _ =>
  }

  /** Record the privileges of a model or a summary that an operation has just made, as those of its rows. */
  def learned(model: AnyRef, by: Option[StatementContext.Accumulated]): Unit =
    by.fold[Unit](Refusal.because(Unknown))(keep(model, _))

  private def keep(rows: AnyRef, by: StatementContext.Accumulated): Unit =
    if (!known.containsKey(rows)) {
      if (by.reads && by.needs.isEmpty) Refusal.because(Unknown)
      known.putIfAbsent(rows, by.needs)
    }

  /** Record rows that require no privilege: a statement has computed them for itself. */
  def computed(rows: LogicalRDD): Unit = known.put(rows.rdd, Set.empty)

  /** Record the use of cached rows by a statement that has been decided: Spark has put them in the place of what it may read. */
  def decided(cached: InMemoryRelation): Unit = known.put(cached, Set.empty)

  /** Whether a node returns rows of stored or other outside data, and not only values of the statement's own. */
  def isRead(node: PlanTraversal.Node): Boolean = node match {
    case _: LocalRelation | _: OneRowRelation | _: Range | _: CTERelationRef | _: UnionLoopRef | _: EmptyRelation | _: Command | _: CommandResult => false
    case _: ResolvedIdentifier | _: ResolvedNamespace | _: ResolvedTempView | _: ResolvedInlineTable => false
    case rows: LogicalRDD => !of(rows.rdd).exists(_.isEmpty)
    case rows: ExternalRDD[_] => !of(rows.rdd).exists(_.isEmpty)
    case MemoryPlan(sink, _) => !Option(known.get(sink)).exists(_.isEmpty)
    case _: LeafNode => true
    case _ => false
  }

  /** Record the privileges of a function over the rows of a table that an Iceberg procedure left in a view of the session. */
  def left(map: MapPartitions, table: Seq[String]): Unit = known.put(map.func, RequiredPrivilege.of("read", Target.Relation(table)).toSet)

  /** Record the privileges that a streaming query requires, if its rows stay in memory. */
  def started(plan: LogicalPlan, needs: Set[RequiredPrivilege]): Unit = plan match {
    case start: WriteToStreamStatement => start.sink match {
      case sink: MemorySink =>
        known.put(sink, needs)
        SessionMemory.keepSink(sink)
      case _ =>
    }
    case _ =>
  }

  /**
   * Record the privileges that creating a temporary view required: its plan can hold rows, and its text can hold values. Another
   * operation may have replaced the view since, so they are added to those that are recorded.
   */
  def created(view: CatalogTable, needs: Set[RequiredPrivilege]): Unit = known.merge(view, needs, _ ++ _)

  private def found(rows: AnyRef): Seq[RequiredPrivilege] =
    Option(known.get(rows)).getOrElse(Refusal.because(Unknown)).toSeq

  private val Function = "the function cannot be created by a script or EXECUTE IMMEDIATE that has read data before, because that data could be in the body of the function; create the function with a statement of its own"
  private val Unknown = "the DataFrame, temporary view or function is refused: Headgate has no record of the tables that its rows come from; read the tables again"
}
