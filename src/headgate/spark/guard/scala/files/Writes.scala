package io.headgate.guard.files

import io.headgate.guard.policy.{AllowLists, Refusal, RequiredPath, RequiredPrivilege}
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.sources.DataSourceRegister

/** Checks of files that a run writes: in a reviewed format, with reviewed options, to a path that it may write to. */
object Writes {
  private val Compression = "compression"
  private val Word = "\\w+".r

  def needs(write: InsertIntoHadoopFsRelationCommand): Seq[RequiredPrivilege] = Seq(RequiredPath("path.write", write.outputPath.toString))

  /** Refuse a write that no caller may make, whatever its path. */
  def check(write: InsertIntoHadoopFsRelationCommand): Unit = {
    if (write.catalogTable.nonEmpty || write.bucketSpec.nonEmpty || write.staticPartitions.nonEmpty) Refusal.node(write)
    write.fileFormat match {
      case format: DataSourceRegister if AllowLists.fileFormats(format.shortName) =>
      case _ => Refusal.because("the format of the written files is not allowed; use `csv`, `json`, `parquet` or `text`")
    }
    AllowLists.fileWriteOptions.check("file writes", write.options)
    write.options.foreach { case (key, value) => if (key.equalsIgnoreCase(Compression)) named(value) }
  }

  /** Refuse a compression that is not a plain word: it would be the name of a class, which Spark would load. */
  private def named(compression: String): Unit =
    if (!Word.matches(compression)) Refusal.because("the option `compression` is not a plain word; use the name of a codec, such as `gzip`")
}
