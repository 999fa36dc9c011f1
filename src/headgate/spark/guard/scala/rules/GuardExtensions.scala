package io.headgate.guard.rules

import io.headgate.guard.catalog.DescribeWithoutData
import io.headgate.guard.expressions.{BoundedAggregates, HarmlessCalls, InterruptionPoints, LimitedCalls, LongArguments, SizedFunctions, TriedCall}
import io.headgate.guard.limits.{BoundedSqlParser, PlanLimits}
import io.headgate.guard.operators.{BoundedResults, BufferedRows}
import io.headgate.guard.policy.{FailingExplain, RetainedViews}
import io.headgate.guard.streams.StreamExplain
import org.apache.spark.sql.SparkSessionExtensions

/**
 * The guard's Spark extensions, which `spark.sql.extensions` names after Iceberg's: the parser, and the three moments at which
 * the guard checks a statement.
 */
class GuardExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser((_, _) => new LakeParser(new BoundedSqlParser))
    (SizedFunctions.all ++ TriedCall.all).foreach(extensions.injectFunction)
    extensions.injectHintResolutionRule(_ => IcebergLoadRewrite)
    extensions.injectHintResolutionRule(session => new PlanLimits.Parsed(session))
    extensions.injectHintResolutionRule(_ => new LimitedCalls(unfolds = false))
    extensions.injectHintResolutionRule(session => new ParsedPlanRule(session))
    extensions.injectPostHocResolutionRule(session => new ResolvedPlanRule(session))
    extensions.injectPostHocResolutionRule(_ => PlanLimits.Resolved)
    extensions.injectPostHocResolutionRule(_ => new LimitedCalls(unfolds = true))
    extensions.injectPostHocResolutionRule(session => new CurrentPrincipal(session))
    extensions.injectPostHocResolutionRule(session => new DescribeWithoutData(session))
    extensions.injectCheckRule(session => new FinalPlanCheck(session))
    extensions.injectOptimizerRule(_ => PlanLimits.Optimized)
    extensions.injectOptimizerRule(_ => HarmlessCalls)
    extensions.injectColumnar(_ => InterruptionPoints)
    extensions.injectColumnar(_ => LongArguments)
    extensions.injectColumnar(_ => BoundedAggregates)
    extensions.injectColumnar(_ => BufferedRows)
    extensions.injectColumnar(_ => BoundedResults)
    extensions.injectColumnar(_ => CacheRefresh)
    extensions.injectPlannerStrategy(session => new RetainedRowsStrategy(session))
    extensions.injectPlannerStrategy(session => new RetainedViews(session))
    extensions.injectPlannerStrategy(session => new FailingExplain(session))
    extensions.injectPlannerStrategy(session => new StreamExplain(session))
  }
}
