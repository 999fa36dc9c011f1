package io.headgate.guard.settings

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.command.{LeafRunnableCommand, ResetCommand, SetCommand}
import org.apache.spark.sql.types.StringType

/** Replaces SET, SET -v and RESET without a key: Spark's own would show and change the settings by which Headgate protects a session. */
object SettingCommands {
  def placed(plan: LogicalPlan): LogicalPlan = plan match {
    case SetCommand(None) => ListSettings()
    case SetCommand(Some(("-v", None))) => ListDefinedSettings()
    case ResetCommand(None) => ResetSettings()
    case _ => plan
  }
}

/** Lists the settings of the session that users may read. */
final case class ListSettings() extends LeafRunnableCommand {
  override val output: Seq[Attribute] = ListSettings.columns("key", "value")

  override def run(session: SparkSession): Seq[Row] =
    session.conf.getAll.toSeq.filter(pair => SettingKeys.isReadable(pair._1)).sorted.map { case (key, value) => Row(key, value) }
}

object ListSettings {
  private[settings] def columns(names: String*): Seq[Attribute] = names.map(AttributeReference(_, StringType, nullable = false)())
}

/** Lists the settings that Spark defines and users may read, with their values and meanings. */
final case class ListDefinedSettings() extends LeafRunnableCommand {
  override val output: Seq[Attribute] = ListSettings.columns("key", "value", "meaning", "Since version")

  override def run(session: SparkSession): Seq[Row] =
    session.sessionState.conf.getAllDefinedConfs.filter(each => SettingKeys.isReadable(each._1)).sorted.map {
      case (key, value, meaning, version) => Row(key, Option(value).getOrElse("<undefined>"), meaning, version)
    }
}

/** Resets the settings that users may set, and no others. */
final case class ResetSettings() extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    session.conf.getAll.keys.filter(SettingKeys.isSettable).foreach(key => ResetCommand(Some(key)).run(session))
    Nil
  }
}
