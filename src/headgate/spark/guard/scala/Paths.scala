package io.headgate.guard

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedDataSource

/** The paths that a read of files names, before any of them is looked at. */
final class Paths(session: SparkSession) {
  private val Pattern = "[{}\\[\\]*?\\\\]".r

  def of(source: UnresolvedDataSource): Seq[Need] = {
    val written = source.paths ++ source.options.get("path")
    if (written.isEmpty) Refuse.because("a read of files must name its path")
    written.map(path => Need.readPath(full(path)))
  }

  private def full(written: String): String = {
    if (Pattern.findFirstIn(written).nonEmpty) Refuse.because(s"`$written` is a pattern; name each file or folder")
    val path = new Path(written)
    if (path.isAbsoluteAndSchemeAuthorityNull || path.toUri.getScheme == null) {
      val default = FileSystem.getDefaultUri(session.sessionState.newHadoopConf())
      path.makeQualified(default, new Path("/")).toString
    } else path.toString
  }
}
