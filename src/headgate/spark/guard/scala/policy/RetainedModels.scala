package org.apache.spark.sql.connect.ml

import io.headgate.guard.client.StatementContext
import io.headgate.guard.memory.SessionMemory
import io.headgate.guard.policy.RetainedRelations
import org.apache.spark.ml.Model
import org.apache.spark.ml.clustering.DistributedLDAModel
import org.apache.spark.ml.feature.ImputerModel
import org.apache.spark.ml.fpm.FPGrowthModel
import org.apache.spark.ml.recommendation.ALSModel
import org.apache.spark.sql.connect.service.SessionHolder

/**
 * Models and summaries of `spark.ml`, which Spark keeps for a session under random ids. They are computed from rows, so each
 * keeps the privileges that making it required, and they are decided again whenever Spark takes it by its id.
 */
object RetainedModels {
  private val OfObject = 1L << 16

  /** Record a model or a summary that an operation has made, before Spark keeps it. */
  def made(holder: SessionHolder, model: AnyRef): Unit = {
    RetainedRelations.learned(model, StatementContext.sinceBegin(holder.session))
    SessionMemory.keepModel(model, bytes(model))
  }

  /** Throw `AccessDenied` unless the principal has now all privileges that making the object of an id required. */
  def use(holder: SessionHolder, cache: MLCache, id: String): Unit =
    Option(cache.cachedModel.get(id)).foreach(item => StatementContext.again(holder.session, RetainedRelations.ofModel(item.obj), "model"))

  /** Return the bytes of a model. One that holds a frame is not measured: its rows are those of Spark's cache and of shuffles. */
  private def bytes(model: AnyRef): Long = model match {
    case _: ALSModel | _: DistributedLDAModel | _: FPGrowthModel | _: ImputerModel => OfObject
    case model: Model[_] => OfObject + model.estimatedSize
    case _ => OfObject
  }
}
