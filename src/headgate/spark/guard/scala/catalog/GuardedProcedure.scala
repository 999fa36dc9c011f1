package io.headgate.guard.catalog

import java.util.{Iterator => JavaIterator}

import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.{ObjectNames, ProcedureOptions, Procedures, Refusal}
import org.apache.iceberg.spark.Spark3Util
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.procedures.{BoundProcedure, ProcedureParameter, UnboundProcedure}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.types.StructType

/**
 * An Iceberg procedure that requires its privileges again, for the resolved table that it will work on, before it does
 * anything.
 */
final class GuardedProcedure(inner: UnboundProcedure, catalog: GuardedCatalog) extends UnboundProcedure {
  override def name: String = inner.name

  override def description: String = inner.description

  override def bind(input: StructType): BoundProcedure = new GuardedCall(inner.bind(input), catalog)
}

private final class GuardedCall(inner: BoundProcedure, catalog: GuardedCatalog) extends BoundProcedure {
  override def name: String = inner.name

  override def description: String = inner.description

  override def parameters: Array[ProcedureParameter] = inner.parameters

  override def isDeterministic: Boolean = inner.isDeterministic

  override def call(arguments: InternalRow): JavaIterator[Scan] = {
    val session = SparkSession.active
    val written = arguments.getString(parameters.indexWhere(_.name == "table"))
    val named = Spark3Util.catalogAndIdentifier("procedure table", session, written, catalog)
    val table = ObjectNames.of(named.catalog, named.identifier)
    StatementContext.require(session, Procedures.needs(name, table, given(arguments)).toSet, name)
    ProcedureOptions.check(name, parameters.toSeq, arguments)
    catalog.loadTable(named.identifier) match {
      case loaded: SparkTable => ProcedureRun.of(session, table, loaded.table.location)(inner.call(arguments))
      case _ => Refusal.because("the table in the argument `table` of the procedure is not an Iceberg table; name an Iceberg table of the lake")
    }
  }

  private def given(arguments: InternalRow): Seq[String] =
    parameters.toSeq.zipWithIndex.collect { case (parameter, index) if !arguments.isNullAt(index) => parameter.name }
}
