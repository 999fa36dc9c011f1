package io.headgate.guard

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.parser.{ParameterContext, SqlBaseParser}
import org.apache.spark.sql.execution.SparkSqlParser

/** Spark's own parser. A script never becomes a plan that the rules could see, so it is refused where it is found. */
final class GuardedParser extends SparkSqlParser {
  override protected def parse[T](command: String)(toResult: SqlBaseParser => T): T = refusingScripts(super.parse(command)(toResult))

  override def parseWithParameters[T](command: String, parameters: ParameterContext)(toResult: SqlBaseParser => T): T =
    refusingScripts(super.parseWithParameters(command, parameters)(toResult))

  private def refusingScripts[T](parsed: => T): T =
    try parsed
    catch { case error: SparkThrowable if isOfScripts(error) => Refuse.because("SQL scripts are refused for now") }

  /** By name: the class is Spark's own secret. */
  private def isOfScripts(error: SparkThrowable): Boolean = error.getClass.getSimpleName == "SqlScriptingException"
}
