package io.headgate.guard.rules

import java.util.Locale

import io.headgate.guard.memory.ClearSessionCache
import io.headgate.guard.policy.{AllowLists, DataTypes, Refusal}
import io.headgate.guard.settings.SettingCommands
import org.apache.spark.sql.catalyst.analysis.LocalTempView
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.execution.command.{ClearCacheCommand, CreateViewCommand}
import org.apache.spark.sql.execution.datasources.CreateTempViewUsing

/** Replaces commands that Spark would run for all sessions, or with classes and files that a user names, by commands for this session. */
object SessionCommands {
  def placed(plan: LogicalPlan): LogicalPlan = plan match {
    case ClearCacheCommand => ClearSessionCache()
    case view: CreateTempViewUsing => withoutRows(view)
    case _ => SettingCommands.placed(plan)
  }

  /** Return the command for a view of no rows: a data source that has columns and no files returns none. */
  private def withoutRows(view: CreateTempViewUsing): LogicalPlan = {
    if (view.global) refuse("would be visible to all sessions; use CREATE TEMPORARY VIEW")
    if (!AllowLists.fileFormats(view.provider.toLowerCase(Locale.ROOT))) refuse(s"names the data source `${view.provider}`, which is not reviewed; use `csv`, `json`, `parquet` or `text`")
    if (view.options.keys.exists(_.equalsIgnoreCase("path"))) refuse("has a path; read files in a run of a pipeline with `spark.read`, through a connection that the pipeline declares")
    AllowLists.fileOptions.check("temporary views", view.options)
    val schema = view.userSpecifiedSchema.getOrElse(refuse("has no columns; list them after its name, or use CREATE TEMPORARY VIEW ... AS with a query of a table"))
    DataTypes.checkWritten(schema)
    CreateViewCommand(
      name = view.tableIdent,
      userSpecifiedColumns = Nil,
      comment = None,
      collation = None,
      properties = Map.empty,
      originalText = None,
      plan = LocalRelation(DataTypeUtils.toAttributes(CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema))),
      allowExisting = false,
      replace = view.replace,
      viewType = LocalTempView)
  }

  private def refuse(why: String): Nothing = Refusal.because(s"the temporary view $why")
}
