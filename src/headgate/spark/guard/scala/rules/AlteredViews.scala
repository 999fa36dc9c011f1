package io.headgate.guard.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{RewriteViewCommands, SchemaBinding, UnresolvedIdentifier}
import org.apache.spark.sql.catalyst.plans.logical.{AlterViewAs, CreateView, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.logical.views.ResolvedV2View

/** Turns ALTER VIEW ... AS for an existing view of the lake into CREATE OR REPLACE VIEW, the only one that Iceberg has. */
object AlteredViews {
  def replaced(parsed: LogicalPlan): LogicalPlan = parsed match {
    case AlterViewAs(ResolvedV2View(catalog, view), text, query) => RewriteViewCommands(SparkSession.active)(CreateView(
      child = UnresolvedIdentifier(catalog.name +: view.namespace.toSeq :+ view.name),
      userSpecifiedColumns = Nil,
      comment = None,
      collation = None,
      properties = Map.empty,
      originalText = Some(text),
      query = query,
      allowExisting = false,
      replace = true,
      viewSchemaMode = SchemaBinding))
    case _ => parsed
  }
}
