package io.headgate.guard.policy

import io.headgate.guard.client.StatementContext
import io.headgate.guard.memory.SessionMemory
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{InternalRow, TableIdentifier}
import org.apache.spark.sql.catalyst.analysis.{LocalTempView, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{CacheTable, CacheTableAsSelect, LogicalPlan}
import org.apache.spark.sql.execution.{CommandExecutionMode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.command.CreateViewCommand
import org.apache.spark.sql.execution.datasources.v2.LeafV2CommandExec

/**
 * Plans the commands that create temporary views. The plan of a view can hold rows (of a transposed table, or quantiles), and
 * its text can hold the value of a variable. So the privileges that its operation has required are recorded with the view.
 */
final class RetainedViews(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case create: CreateViewCommand if create.viewType == LocalTempView => Seq(CreateRetainedView(session, create, None))
    case cache: CacheTableAsSelect => Seq(CreateRetainedView(session, viewOf(cache), Some(cachingOf(cache))))
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

/**
 * Creates a temporary view, records the privileges that the operation has required, and runs the statement that uses the view.
 */
final case class CreateRetainedView(of: SparkSession, create: CreateViewCommand, next: Option[LogicalPlan]) extends LeafV2CommandExec {
  override def output: Seq[Attribute] = Nil

  override protected def run(): Seq[InternalRow] = {
    SessionMemory.require(of)
    create.run(session)
    for {
      operation <- StatementContext.sinceBegin(of)
      view <- of.sessionState.catalog.getRawTempView(create.name.table)
    } RetainedRelations.created(view.tableMeta, operation.needs)
    next.foreach(of.sessionState.executePlan(_, CommandExecutionMode.ALL).commandExecuted)
    Nil
  }
}
