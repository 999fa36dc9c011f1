package io.headgate.guard.policy

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.types.{IntegerType, LongType, MapType}

/**
 * Checks of the options and numbers in a call of a procedure. Only listed ones are allowed, because Iceberg creates threads in
 * the number, and buffers in the size, that they state.
 */
object ProcedureOptions {
  private val listed = OptionList.byUser("procedure-options")

  /** Refuse an option or a number that is not on the procedure's list, or is outside of its range in the list. */
  def check(procedure: String, parameters: Seq[ProcedureParameter], arguments: InternalRow): Unit = {
    val given = parameters.zipWithIndex.filterNot { case (_, at) => arguments.isNullAt(at) }
    listed(procedure).check(s"procedure `$procedure`", given.flatMap { case (parameter, at) => options(parameter, arguments, at) }.toMap)
  }

  private def options(parameter: ProcedureParameter, arguments: InternalRow, at: Int): Map[String, String] = parameter.dataType match {
    case _: MapType => ArrayBasedMapData.toScalaMap(arguments.getMap(at).asInstanceOf[ArrayBasedMapData]).map { case (key, value) => s"$key" -> s"$value" }.toMap
    case IntegerType | LongType => Map(parameter.name -> s"${arguments.get(at, parameter.dataType)}")
    case _ => Map.empty
  }
}
