package io.headgate.guard.limits

import java.util.{Map => JavaMap}

import com.google.common.collect.MapMaker
import io.headgate.guard.driver.{DriverThreads, OperationId, ReceivedRequests}
import io.headgate.guard.expressions.Sizes
import io.headgate.guard.memory.PlanMemory
import io.headgate.guard.policy.RetainedRelations
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.execution.{LogicalRDD, UnionLoopExec}
import org.apache.spark.sql.execution.columnar.InMemoryRelation

/**
 * Limits of the levels of recursive queries. Spark keeps the rows of all levels in the driver until the last is computed, often
 * on a thread of a pool.
 */
object RecursionLimit {
  /** Most levels of one query: in the end each is an operation of one plan. */
  private val Most = PlanLimits.MaxNodes - 500

  /** Bytes of the plan of a level. */
  private val Level = 4096L

  private val levels: JavaMap[UnionLoopExec, Integer] = new MapMaker().weakKeys().makeMap[UnionLoopExec, Integer]()

  /**
   * Return the plan of the next level. Throw `LimitExceeded` if its statement has ended, or there is no memory for the rows
   * that it reads.
   */
  def counted(loop: UnionLoopExec, plan: LogicalPlan): LogicalPlan = {
    if (levels.merge(loop, 1, (before, more) => before + more) > Most)
      throw new LimitExceeded(s"the recursive query has more than $Most levels; compute more rows in each level, or write a part of the rows to a table first", LimitExceeded.TooComplex)
    for (operation <- OperationId.current(loop.session); request <- ReceivedRequests.of(operation)) {
      if (!DriverThreads.isRunning(operation)) throw new LimitExceeded("the statement of the recursive query was cancelled or has finished; run it again", LimitExceeded.Ended)
      PlanMemory.add(operation, request, Level + before(loop, plan).map(_.iterator.map(Sizes.of).sum).sum)
    }
    plan.collectWithSubqueries { case cached: InMemoryRelation => cached }.foreach(RetainedRelations.decided)
    plan
  }

  /**
   * Return the rows of a level. Spark has computed them from data that the statement may read, and no other statement can name
   * them.
   */
  def known(rows: LogicalRDD): LogicalRDD = {
    RetainedRelations.computed(rows)
    rows
  }

  /** Return the rows of the level before, without those that are written in the query. */
  private def before(loop: UnionLoopExec, plan: LogicalPlan): Seq[Seq[InternalRow]] =
    rows(plan).filterNot(each => rows(loop.recursion).exists(_ eq each))

  private def rows(plan: LogicalPlan): Seq[Seq[InternalRow]] = plan.collectWithSubqueries { case local: LocalRelation => local.data }
}
