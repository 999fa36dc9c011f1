package io.headgate.guard.files

import io.headgate.guard.policy.{AllowLists, Refusal, RequiredPath, RequiredPrivilege}
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.sources.DataSourceRegister

/** Files that a run writes: in a reviewed format, with reviewed options, where it may. */
object Writes {
  private val Compression = "compression"
  private val Word = "\\w+".r

  def needs(write: InsertIntoHadoopFsRelationCommand): Seq[RequiredPrivilege] = Seq(RequiredPath("path.write", write.outputPath.toString))

  /** Refuses what nobody may write, wherever it goes. */
  def check(write: InsertIntoHadoopFsRelationCommand): Unit = {
    if (write.catalogTable.nonEmpty || write.bucketSpec.nonEmpty || write.staticPartitions.nonEmpty) Refusal.node(write)
    write.fileFormat match {
      case format: DataSourceRegister if AllowLists.fileFormats(format.shortName) =>
      case _ => Refusal.because("files are not written in this format")
    }
    AllowLists.fileWriteOptions.check("a file write", write.options)
    write.options.foreach { case (key, value) => if (key.equalsIgnoreCase(Compression)) named(value) }
  }

  /** A compression that is no plain word is the name of a class, which Spark would load. */
  private def named(compression: String): Unit =
    if (!Word.matches(compression)) Refusal.because("a compression is named by a plain word")
}
