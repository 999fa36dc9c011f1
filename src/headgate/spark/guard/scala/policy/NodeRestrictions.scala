package io.headgate.guard.policy

import java.util.Locale

import scala.jdk.CollectionConverters._

import io.headgate.guard.connections.Connections
import io.headgate.guard.files.Writes
import io.headgate.guard.memory.SessionMemory
import io.headgate.guard.streams.Streams
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.catalog.SQLFunction
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.views.CreateIcebergView
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources.{InsertIntoHadoopFsRelationCommand, SaveIntoDataSourceCommand}

/** What nobody may write, whatever they hold: each rule looks at one node and refuses or says nothing. */
final class NodeRestrictions(session: SparkSession) {
  private val connections = new Connections(session)

  def check(node: PlanTraversal.Node): Unit = node match {
    case relation: UnresolvedRelation => read(relation)
    case source: UnresolvedDataSource if Connections.isDatabase(source) => connections.check(source)
    case save: SaveIntoDataSourceCommand => connections.check(save)
    case source: UnresolvedDataSource => fileRead(source)
    case view: View if !view.isTempView => Refusal.because("views outside of the lake are refused")
    case view: CreateViewCommand if view.viewType != LocalTempView =>
      Refusal.because("only views of the lake, and temporary views of this session, can be made")
    case view: CreateViewCommand => named(view.name.table)
    case cache: CacheTableAsSelect => named(cache.tempViewName)
    case create: CreateVariable => create.names.foreach(named)
    case start: WriteToStreamStatement => Streams.check(start)
    case function: CreateSQLFunctionCommand if !function.isTemp => onlyTemporary()
    case function: CreateSQLFunctionCommand =>
      named(function.name.funcName)
      SessionMemory.require(session)
    case function: DropFunctionCommand if !function.isTemp => onlyTemporary()
    case set: SetCommand => setting(set.kv.map(_._1))
    case reset: ResetCommand => setting(reset.config)
    case set: SetTableProperties => settable(set.properties)
    case set: SetViewProperties => settable(set.properties)
    case set: SetNamespaceProperties => settable(set.properties)
    case create: CreateNamespace => settable(create.properties)
    case create: CreateView => settable(create.properties)
    case create: CreateIcebergView => settable(create.properties)
    case partition: UnresolvedPartitionSpec if partition.location.nonEmpty => noLocation("partition")
    case create: CreateTable => table(create.tableSpec)
    case create: CreateTableAsSelect => table(create.tableSpec, create.writeOptions)
    case replace: ReplaceTable => table(replace.tableSpec)
    case replace: ReplaceTableAsSelect => table(replace.tableSpec, replace.writeOptions)
    case write: InsertIntoHadoopFsRelationCommand => Writes.check(write)
    case write: AppendData => options(write.writeOptions)
    case write: OverwriteByExpression => options(write.writeOptions)
    case write: OverwritePartitionsDynamic => options(write.writeOptions)
    case call: UnresolvedFunction => function(call.nameParts)
    case call: UnresolvedTableValuedFunction => tableFunction(call.name)
    case call: UnresolvedGenerator => function(Seq(call.name.funcName))
    case call: StaticInvoke => sparkOwn(call)
    case _ =>
  }

  private def read(relation: UnresolvedRelation): Unit =
    AllowLists.readOptions.check("a table read", relation.clearWritePrivileges.options.asScala.toMap)

  private def fileRead(source: UnresolvedDataSource): Unit = {
    if (source.isStreaming) Streams.check(source) else listed("data source", Seq(source.format), AllowLists.fileFormats)
    source.userSpecifiedSchema.foreach(DataTypes.checkWritten)
    if (source.isStreaming) Streams.options(source).check("a stream", source.options) else AllowLists.fileOptions.check("a file read", source.options)
  }

  private def table(spec: TableSpecBase, writeOptions: Map[String, String] = Map.empty): Unit = {
    listed("table format", spec.provider, AllowLists.tableFormats)
    if (spec.location.nonEmpty || spec.external) noLocation("table")
    if (spec.serde.nonEmpty) Refusal.because("a table cannot be given a row format")
    settable(spec.properties)
    spec match {
      case parsed: UnresolvedTableSpec => listed("table option", parsed.optionExpression.options.map(_._1), Set.empty)
      case resolved: TableSpec => listed("table option", resolved.options.keys, Set.empty)
      case _ => Refusal.because("this form of table definition is not known to Headgate")
    }
    options(writeOptions)
  }

  private def options(write: Map[String, String]): Unit = AllowLists.writeOptions.check("a table write", write)

  private def settable(properties: Map[String, String]): Unit =
    properties.keys.find(key => !Properties.isSettable(key)).foreach { key =>
      Refusal.because(s"property `$key` is not among those Headgate allows")
    }

  private def named(variable: LogicalPlan): Unit = variable match {
    case unresolved: UnresolvedIdentifier => unresolved.nameParts.foreach(named)
    case resolved: ResolvedIdentifier => named(resolved.identifier.name)
    case _ =>
  }

  private def named(name: String): Unit =
    if (name.length > NodeRestrictions.LongestName) Refusal.because(s"a name has more than ${NodeRestrictions.LongestName} characters; use a shorter one")

  private def noLocation(of: String): Nothing = Refusal.because(s"a $of cannot be given a storage location")

  private def onlyTemporary(): Nothing = Refusal.because("only temporary functions of this session can be made and dropped")

  private def setting(key: Option[String]): Unit =
    if (!key.exists(AllowLists.settings)) Refusal.because("this configuration can be neither read nor changed in SQL")

  /** A function registered in the session under a built-in name is code that nobody has reviewed. */
  private def function(name: Seq[String]): Unit = {
    val id = FunctionIdentifier(name.last.toLowerCase(Locale.ROOT))
    val registered = session.sessionState.functionRegistry.lookupFunction(id)
    if (name.size > 1 || !registered.exists(isSql)) {
      listed("function", Seq(name.mkString(".")), AllowLists.functions)
      val builtIn = FunctionRegistry.builtin.lookupFunction(id)
      if (registered.exists(info => !builtIn.exists(_.getClassName == info.getClassName)))
        Refusal.because(s"function `${name.last}` is user code, so it is refused")
    }
  }

  private def tableFunction(name: Seq[String]): Unit = {
    val id = FunctionIdentifier(name.last.toLowerCase(Locale.ROOT))
    val registered = session.sessionState.tableFunctionRegistry.lookupFunction(id)
    if (name.size > 1 || !registered.exists(isSql)) listed("table function", Seq(name.mkString(".")), AllowLists.tableFunctions)
  }

  /** A function of the session whose body is SQL: Spark analyzes the body on its own wherever it is used. */
  private def isSql(function: ExpressionInfo): Boolean = SQLFunction.isSQLFunction(function.getClassName)

  private def sparkOwn(call: StaticInvoke): Unit =
    if (!NodeRestrictions.SparkOwn.exists(call.staticObject.getName.startsWith)) Refusal.node(call)

  private def listed(what: String, names: Iterable[String], list: Set[String]): Unit =
    names.find(name => !list(name.toLowerCase(Locale.ROOT))).foreach { name =>
      Refusal.because(s"$what `$name` is not among those Headgate allows")
    }
}

object NodeRestrictions {
  /** Characters in the name of a view, variable or function of a session. */
  private val LongestName = 255

  /** Where functions lie that Spark itself calls, in SQL and to make rows of objects and objects of rows. */
  private val SparkOwn = Seq("org.apache.spark.sql.catalyst.", "org.apache.spark.sql.types.", "org.apache.spark.unsafe.types.") ++
    Seq("Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double").map("java.lang." + _)
}
