package io.headgate.guard.expressions

import io.headgate.guard.limits.LimitExceeded
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.MapData

/** Limits the entries of a map of which a function compares each key with each key of another map. */
final case class BoundedMap(child: Expression) extends UnaryExpression with CodegenFallback with GuardExpression {
  override def eval(row: InternalRow): Any = child.eval(row) match {
    case map: MapData if map.numElements() > BoundedMap.Most =>
      throw new LimitExceeded(s"`map_zip_with` would compare each key of a map of more than ${BoundedMap.Most} entries with each key of another; use smaller maps, or keys that are numbers or strings")
    case other => other
  }

  override protected def withNewChildInternal(changed: Expression): BoundedMap = copy(child = changed)
}

object BoundedMap {
  private val Most = 5000

  def of(map: Expression): Expression = map match {
    case done: BoundedMap => done
    case other => BoundedMap(other)
  }
}
