package io.headgate.guard

import java.util.Locale

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.command.{CreateViewCommand, SetCatalogCommand, SetCommand}

/** What nobody may write, whatever they hold: each rule looks at one node and refuses or says nothing. */
final class Limits(session: SparkSession) {
  def check(node: Walk.Node): Unit = node match {
    case relation: UnresolvedRelation => read(relation)
    case source: UnresolvedDataSource => fileRead(source)
    case view: View if !view.isTempView => Refuse.because("persistent views are refused for now")
    case view: CreateViewCommand if view.viewType != LocalTempView =>
      Refuse.because("only temporary views of this session can be made for now")
    case start: WriteToStreamStatement => Streams.check(start)
    case set: SetCommand => setting(set)
    case set: SetCatalogCommand => Names.governed(Seq(set.catalogName))
    case create: CreateTable => table(create.tableSpec)
    case create: CreateTableAsSelect => table(create.tableSpec, create.writeOptions)
    case replace: ReplaceTable => table(replace.tableSpec)
    case replace: ReplaceTableAsSelect => table(replace.tableSpec, replace.writeOptions)
    case write: AppendData => options(write.writeOptions)
    case write: OverwriteByExpression => options(write.writeOptions)
    case write: OverwritePartitionsDynamic => options(write.writeOptions)
    case call: UnresolvedFunction => function(call.nameParts)
    case call: UnresolvedTableValuedFunction => tableFunction(call.name)
    case call: UnresolvedGenerator => function(Seq(call.name.funcName))
    case call: StaticInvoke => sparkOwn(call)
    case _ =>
  }

  private def read(relation: UnresolvedRelation): Unit = {
    listed("read option", relation.clearWritePrivileges.options.keySet.toArray(Array.empty[String]), Lists.readOptions)
  }

  private def fileRead(source: UnresolvedDataSource): Unit = {
    if (source.isStreaming) Streams.check(source) else listed("data source", Seq(source.format), Lists.fileFormats)
    listed("option", source.options.keySet, if (source.isStreaming) Lists.rateOptions else Lists.fileOptions)
  }

  private def table(spec: TableSpecBase, writeOptions: Map[String, String] = Map.empty): Unit = {
    listed("table format", spec.provider, Lists.tableFormats)
    if (spec.location.nonEmpty || spec.external) Refuse.because("a table cannot be given a storage location")
    if (spec.serde.nonEmpty) Refuse.because("a table cannot be given a row format")
    listed("table property", spec.properties.keys, Lists.tableProperties)
    spec match {
      case parsed: UnresolvedTableSpec => listed("table option", parsed.optionExpression.options.map(_._1), Set.empty)
      case resolved: TableSpec => listed("table option", resolved.options.keys, Set.empty)
      case _ => Refuse.because("this form of table definition is not known to Headgate")
    }
    options(writeOptions)
  }

  private def options(write: Map[String, String]): Unit = listed("write option", write.keys, Lists.writeOptions)

  private def setting(set: SetCommand): Unit = set.kv match {
    case Some((key, _)) if Lists.settings(key) =>
    case _ => Refuse.because("this configuration can be neither read nor changed in SQL")
  }

  /** A function registered in the session under a built-in name is code that nobody has reviewed. */
  private def function(name: Seq[String]): Unit = {
    listed("function", Seq(name.mkString(".")), Lists.functions)
    val id = FunctionIdentifier(name.last.toLowerCase(Locale.ROOT))
    val builtIn = FunctionRegistry.builtin.lookupFunction(id)
    val registered = session.sessionState.functionRegistry.lookupFunction(id)
    if (registered.exists(info => !builtIn.exists(_.getClassName == info.getClassName))) Refuse.because(s"function `${name.last}` is user code, so it is refused")
  }

  private def tableFunction(name: Seq[String]): Unit = listed("table function", Seq(name.mkString(".")), Lists.tableFunctions)

  private def sparkOwn(call: StaticInvoke): Unit =
    if (!call.staticObject.getName.startsWith("org.apache.spark.sql.catalyst.")) Refuse.node(call)

  private def listed(what: String, names: Iterable[String], list: Set[String]): Unit =
    names.find(name => !list(name.toLowerCase(Locale.ROOT))).foreach { name =>
      Refuse.because(s"$what `$name` is not among those Headgate allows")
    }
}
