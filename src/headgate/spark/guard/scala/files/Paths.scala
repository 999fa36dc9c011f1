package io.headgate.guard.files

import io.headgate.guard.policy.{Refusal, RequiredPath, RequiredPrivilege}
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession

/**
 * The privileges for the paths that files are read from and that a stream keeps its progress in, before any of them is opened.
 */
final class Paths(session: SparkSession) {
  private val Pattern = "[{}\\[\\]*?\\\\]".r

  def of(written: Seq[String]): Seq[RequiredPrivilege] = {
    if (written.isEmpty) Refusal.because("the read of files names no path; pass a path of a connection that the pipeline declares")
    written.map(path => RequiredPrivilege.readPath(full(path)))
  }

  def checkpoint(written: String): RequiredPrivilege = RequiredPath("path.checkpoint", full(written))

  private def full(written: String): String = {
    if (Pattern.findFirstIn(written).nonEmpty) Refusal.because(s"the path `$written` is a pattern, because it contains one of `{ } [ ] * ? \\`; name each file or folder without a pattern")
    val path = new Path(written)
    if (path.isAbsoluteAndSchemeAuthorityNull || path.toUri.getScheme == null) {
      val default = FileSystem.getDefaultUri(session.sessionState.newHadoopConf())
      path.makeQualified(default, new Path("/")).toString
    } else path.toString
  }
}
