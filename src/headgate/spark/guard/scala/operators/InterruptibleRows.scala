package io.headgate.guard.operators

import io.headgate.guard.expressions.InterruptionPoint
import io.headgate.guard.limits.Interruption
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan}

/** Interruption checks for the rows of an operator that has none, or few: the work for each row may take milliseconds. */
final case class InterruptibleRows(child: SparkPlan) extends PassedRows with CodegenSupport {
  /** Whether the child generates code; rows that exist already are passed as they are. */
  override def supportCodegen: Boolean = child match {
    case maker: CodegenSupport => maker.supportCodegen
    case _ => false
  }

  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()

  override protected def doProduce(context: CodegenContext): String = child.asInstanceOf[CodegenSupport].produce(context, this)

  override def doConsume(context: CodegenContext, input: Seq[ExprCode], row: ExprCode): String =
    s"${InterruptionPoint.code(context, InterruptibleRows.Every)}\n${consume(context, input)}"

  override protected def doExecute(): RDD[InternalRow] =
    child.execute().mapPartitions(rows => rows.map { row => Interruption.check(); row }, preservesPartitioning = true)

  /** Return the form of the child, by which Spark finds an exchange that it has already made. */
  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def withNewChildInternal(changed: SparkPlan): InterruptibleRows = copy(child = changed)
}

object InterruptibleRows {
  private val Every = 16 // rows between two checks
}
