package io.headgate.guard.policy

import io.headgate.guard.client.StatementContext
import io.headgate.guard.memory.SessionMemory
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{InternalRow, TableIdentifier}
import org.apache.spark.sql.catalyst.analysis.{LocalTempView, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{CacheTable, CacheTableAsSelect, LogicalPlan}
import org.apache.spark.sql.execution.{CommandExecutionMode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.command.{AlterViewAsCommand, CreateViewCommand}
import org.apache.spark.sql.execution.datasources.v2.LeafV2CommandExec

/**
 * Plans the commands that create and change temporary views. The plan of a view can hold rows (of a transposed table, or
 * quantiles), and its text can hold the value of a variable. So the privileges that its operation has required are recorded
 * with the view.
 */
final class RetainedViews(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case create: CreateViewCommand if create.viewType == LocalTempView => Seq(CreateRetainedView(session, create, None))
    case cache: CacheTableAsSelect => Seq(CreateRetainedView(session, viewOf(cache), Some(cachingOf(cache))))
    case alter: AlterViewAsCommand => Seq(AlterRetainedView(session, alter))
    case _ => Nil
  }

  private def viewOf(cache: CacheTableAsSelect): CreateViewCommand = CreateViewCommand(
    name = TableIdentifier(cache.tempViewName),
    userSpecifiedColumns = Nil,
    comment = None,
    collation = None,
    properties = Map.empty,
    originalText = Some(cache.originalText),
    plan = cache.plan,
    allowExisting = false,
    replace = false,
    viewType = LocalTempView,
    isAnalyzed = true,
    referredTempFunctions = cache.referredTempFunctions)

  private def cachingOf(cache: CacheTableAsSelect): CacheTable =
    CacheTable(UnresolvedRelation(Seq(cache.tempViewName)), Seq(cache.tempViewName), cache.isLazy, cache.options)
}

private object RetainedViews {
  /** Create or change a temporary view, and record the privileges that the operation has required. */
  def record(session: SparkSession, name: String)(change: => Unit): Unit = {
    SessionMemory.require(session)
    change
    for {
      operation <- StatementContext.sinceBegin(session)
      view <- session.sessionState.catalog.getRawTempView(name)
    } RetainedRelations.created(view.tableMeta, operation.needs)
  }
}

/** Changes the query of a temporary view, and records the privileges that the operation has required. */
final case class AlterRetainedView(of: SparkSession, alter: AlterViewAsCommand) extends LeafV2CommandExec {
  override def output: Seq[Attribute] = Nil

  override protected def run(): Seq[InternalRow] = {
    RetainedViews.record(of, alter.name.table)(alter.run(session))
    Nil
  }
}

/**
 * Creates a temporary view, records the privileges that the operation has required, and runs the statement that uses the view.
 */
final case class CreateRetainedView(of: SparkSession, create: CreateViewCommand, next: Option[LogicalPlan]) extends LeafV2CommandExec {
  override def output: Seq[Attribute] = Nil

  override protected def run(): Seq[InternalRow] = {
    RetainedViews.record(of, create.name.table)(create.run(session))
    next.foreach(of.sessionState.executePlan(_, CommandExecutionMode.ALL).commandExecuted)
    Nil
  }
}
