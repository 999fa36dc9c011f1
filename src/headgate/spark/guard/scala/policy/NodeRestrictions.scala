package io.headgate.guard.policy

import java.util.Locale

import scala.jdk.CollectionConverters._

import io.headgate.guard.connections.Connections
import io.headgate.guard.files.Writes
import io.headgate.guard.memory.SessionMemory
import io.headgate.guard.settings.SettingKeys
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

/** Restrictions for all callers, whatever their privileges: each rule checks one node, and refuses it or does nothing. */
final class NodeRestrictions(session: SparkSession) {
  private val connections = new Connections(session)

  def check(node: PlanTraversal.Node): Unit = node match {
    case relation: UnresolvedRelation => read(relation)
    case source: UnresolvedDataSource if Connections.isDatabase(source) => connections.check(source)
    case save: SaveIntoDataSourceCommand => connections.check(save)
    case source: UnresolvedDataSource => fileRead(source)
    case view: View if !view.isTempView => Refusal.because("the statement reads a view outside of the catalog `lake`; use a view of the lake or a temporary view")
    case view: CreateViewCommand if view.viewType != LocalTempView =>
      Refusal.because("the view cannot be created: Headgate allows only views of the lake and temporary views of the session; name it `lake.<database>.<view>`, or use CREATE TEMPORARY VIEW")
    case view: CreateViewCommand => named(view.name.table)
    case view: AlterViewAsCommand if view.name.database.nonEmpty || !session.sessionState.catalog.isTempView(view.name) =>
      Refusal.because("the view cannot be changed: Headgate allows only views of the lake and temporary views of the session; name it `lake.<database>.<view>`, or use a temporary view")
    case cache: CacheTableAsSelect => named(cache.tempViewName)
    case create: CreateVariable => create.names.foreach(named)
    case start: WriteToStreamStatement => Streams.check(start)
    case function: CreateSQLFunctionCommand if !function.isTemp => onlyTemporary()
    case function: CreateSQLFunctionCommand =>
      named(function.name.funcName)
      SessionMemory.require(session)
    case function: DropFunction if !function.ifExists => onlyTemporary()
    case function: DropFunctionCommand if !function.isTemp => onlyTemporary()
    case set: SetCommand => SettingKeys.check(session, set)
    case reset: ResetCommand => SettingKeys.check(reset)
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
    case call: UnresolvedFunction => if (call.isInternal || !isUnknown(call.nameParts)) function(call.nameParts)
    case call: UnresolvedTableValuedFunction => if (!isUnknown(call.name)) tableFunction(call.name)
    case call: UnresolvedGenerator => function(Seq(call.name.funcName))
    case call: StaticInvoke => sparkOwn(call)
    case _ =>
  }

  private def read(relation: UnresolvedRelation): Unit =
    AllowLists.readOptions.check("table reads", relation.clearWritePrivileges.options.asScala.toMap)

  private def fileRead(source: UnresolvedDataSource): Unit = {
    if (source.isStreaming) Streams.check(source) else listed("data source", Seq(source.format), AllowLists.fileFormats)
    source.userSpecifiedSchema.foreach(DataTypes.checkWritten)
    if (source.isStreaming) Streams.options(source).check("streaming reads", source.options) else AllowLists.fileOptions.check("file reads", source.options)
  }

  private def table(spec: TableSpecBase, writeOptions: Map[String, String] = Map.empty): Unit = {
    listed("table format", spec.provider, AllowLists.tableFormats)
    if (spec.location.nonEmpty || spec.external) noLocation("table")
    if (spec.serde.nonEmpty) Refusal.because("the statement gives the table a row format, but every table of the lake is an Iceberg table; remove ROW FORMAT and STORED AS")
    settable(spec.properties)
    spec match {
      case parsed: UnresolvedTableSpec => listed("table option", parsed.optionExpression.options.map(_._1), Set.empty)
      case resolved: TableSpec => listed("table option", resolved.options.keys, Set.empty)
      case _ => Refusal.because("the table is defined in a form that Headgate does not know; use CREATE TABLE with columns, or CREATE TABLE ... AS SELECT")
    }
    options(writeOptions)
  }

  private def options(write: Map[String, String]): Unit = {
    val (notes, others) = write.partition { case (key, _) => Properties.hasSnapshotPrefix(key) }
    Properties.checkSnapshotNotes(notes)
    AllowLists.writeOptions.check("table writes", others)
  }

  private def settable(properties: Map[String, String]): Unit =
    properties.keys.find(key => !Properties.isSettable(key)).foreach { key =>
      Refusal.because(s"the property `$key` is refused: an engine or library could give it a meaning that Headgate has not reviewed; remove it, or use a key of your own, such as `my.note`")
    }

  private def named(variable: LogicalPlan): Unit = variable match {
    case unresolved: UnresolvedIdentifier => unresolved.nameParts.foreach(named)
    case resolved: ResolvedIdentifier => named(resolved.identifier.name)
    case _ =>
  }

  private def named(name: String): Unit =
    if (name.length > NodeRestrictions.LongestName) Refusal.because(s"the name of a view, variable or function has more than ${NodeRestrictions.LongestName} characters; use a shorter name")

  private def noLocation(of: String): Nothing = Refusal.because(s"a $of cannot have a storage location of its own: the lake chooses where files are stored; remove LOCATION or EXTERNAL")

  private def onlyTemporary(): Nothing = Refusal.because("permanent functions cannot be created or dropped: Headgate allows only temporary functions of the session; use CREATE TEMPORARY FUNCTION or DROP TEMPORARY FUNCTION")

  /**
   * Refuse a function that is not on the list. Refuse a function that the session has registered under a built-in name, too: it
   * is code without a review.
   */
  private def function(name: Seq[String]): Unit = {
    val id = FunctionIdentifier(name.last.toLowerCase(Locale.ROOT))
    val registered = session.sessionState.functionRegistry.lookupFunction(id)
    if (name.size > 1 || !registered.exists(isSql)) {
      listed("function", Seq(name.mkString(".")), AllowLists.functions)
      val builtIn = FunctionRegistry.builtin.lookupFunction(id)
      if (registered.exists(info => !builtIn.exists(_.getClassName == info.getClassName)))
        Refusal.because(s"the function `${name.last}` is refused: the session has registered user code under this built-in name; drop it with DROP TEMPORARY FUNCTION")
    }
  }

  /**
   * Whether no registry has a function of this name, so that Spark says that it cannot find it. A function of a catalog is
   * decided by the class of its call. Spark looks up internal calls elsewhere.
   */
  private def isUnknown(name: Seq[String]): Boolean = {
    val id = FunctionIdentifier(name.last.toLowerCase(Locale.ROOT))
    val functions = Seq(session.sessionState.functionRegistry, FunctionRegistry.builtin)
    val tableFunctions = Seq(session.sessionState.tableFunctionRegistry, TableFunctionRegistry.builtin)
    name.size == 1 && !(functions ++ tableFunctions).exists(_.functionExists(id))
  }

  private def tableFunction(name: Seq[String]): Unit = {
    val id = FunctionIdentifier(name.last.toLowerCase(Locale.ROOT))
    val registered = session.sessionState.tableFunctionRegistry.lookupFunction(id)
    if (name.size > 1 || !registered.exists(isSql)) listed("table function", Seq(name.mkString(".")), AllowLists.tableFunctions)
  }

  /** Whether this is a function of the session with a body of SQL, which Spark analyzes on its own at each use. */
  private def isSql(function: ExpressionInfo): Boolean = SQLFunction.isSQLFunction(function.getClassName)

  private def sparkOwn(call: StaticInvoke): Unit =
    if (!NodeRestrictions.SparkOwn.exists(call.staticObject.getName.startsWith)) Refusal.node(call)

  private def listed(what: String, names: Iterable[String], list: Set[String]): Unit =
    names.find(name => !list(name.toLowerCase(Locale.ROOT))).foreach { name =>
      Refusal.because(s"the $what `$name` is refused: Headgate allows only reviewed ${what}s; use another $what, or leave it out")
    }
}

object NodeRestrictions {
  /** Most characters in the name of a view, variable or function of a session. */
  private val LongestName = 255

  /** The packages and classes of functions that Spark itself calls, in SQL and to convert between rows and objects. */
  private val SparkOwn = Seq("org.apache.iceberg.spark.functions.", "org.apache.spark.sql.catalyst.", "org.apache.spark.sql.types.", "org.apache.spark.unsafe.types.") ++
    Seq("Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double").map("java.lang." + _)
}
