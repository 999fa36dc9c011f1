package io.headgate.guard

import org.apache.spark.sql.catalyst.expressions.UnaryExpression
import org.apache.spark.sql.types.DataType

/** An expression of the guard, which no list of reviewed Spark classes names: it has the value and the name of its child. */
trait GuardExpression extends UnaryExpression {
  override def nullable: Boolean = child.nullable

  override def dataType: DataType = child.dataType

  override def prettyName: String = child.prettyName

  override def sql: String = child.sql

  override def toString: String = child.toString
}
