package io.headgate.guard.limits

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/** Limits the types of columns, which double with each level that has a column of the level below twice. */
object TypeSizes {
  /** Most parts of the types of all columns of one node, expanded. */
  private val Most = 100000d

  /** Throw `LimitExceeded` if a node of the plan has larger types. */
  def require(plan: LogicalPlan): Unit = {
    val sizes = new Counting
    plan.foreach(node => if (node.resolved && node.output.map(column => sizes.of(column.dataType)).sum > Most) tooLarge())
  }

  private def tooLarge(): Nothing =
    PlanLimits.tooComplex(s"the types of the columns of the statement have more than ${Most.toInt} fields together; select fewer columns, or nest fewer structs")

  /** Counts the parts of types. A type that is in several places is one object, and is counted once. */
  private final class Counting {
    private val known = new IdentityHashMap[DataType, java.lang.Double]

    def of(kind: DataType): Double = kind match {
      case StructType(fields) => once(kind, fields.map(_.dataType).toSeq)
      case ArrayType(element, _) => once(kind, Seq(element))
      case MapType(key, value, _) => once(kind, Seq(key, value))
      case _ => 1
    }

    private def once(kind: DataType, parts: Seq[DataType]): Double = {
      if (!known.containsKey(kind)) known.put(kind, 1 + parts.map(of).sum)
      known.get(kind)
    }
  }
}
