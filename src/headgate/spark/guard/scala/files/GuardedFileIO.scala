package io.headgate.guard.files

import java.lang.{Iterable => JavaIterable}
import java.util.{Map => JavaMap}
import java.util.function.{Function => JavaFunction}

import scala.jdk.CollectionConverters._

import io.headgate.guard.policy.Refusal
import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.hadoop.HadoopConfigurable
import org.apache.iceberg.io.{InputFile, OutputFile, ResolvingFileIO, SupportsBulkOperations}
import org.apache.iceberg.util.SerializableSupplier

/**
 * The files of one table, and no others: whatever a table's metadata names - and somebody may have written it -
 * is read, written and removed only inside the location that the catalog gave with the table. It travels with
 * the table to where its tasks run.
 */
class GuardedFileIO extends HadoopConfigurable with SupportsBulkOperations {
  private val files = new ResolvingFileIO
  private var location: String = _

  override def initialize(properties: JavaMap[String, String]): Unit = {
    files.initialize(properties)
    location = properties.get(GuardedFileIO.Location)
  }

  override def newInputFile(path: String): InputFile = files.newInputFile(contained(path))

  override def newInputFile(path: String, length: Long): InputFile = files.newInputFile(contained(path), length)

  override def newOutputFile(path: String): OutputFile = files.newOutputFile(contained(path))

  override def deleteFile(path: String): Unit = files.deleteFile(contained(path))

  override def deleteFiles(paths: JavaIterable[String]): Unit = files.deleteFiles(paths.asScala.map(contained).toSeq.asJava)

  override def properties: JavaMap[String, String] = files.properties

  override def close(): Unit = files.close()

  override def setConf(conf: Configuration): Unit = files.setConf(conf)

  override def getConf: Configuration = files.getConf

  override def serializeConfWith(confSerializer: JavaFunction[Configuration, SerializableSupplier[Configuration]]): Unit =
    files.serializeConfWith(confSerializer)

  private def contained(path: String): String =
    if (location != null && PathContainment.isInside(location, path)) path
    else Refusal.because("a file that this table names lies outside the table's location, so it is refused")
}

object GuardedFileIO {
  /** What the lake says of a table when it is loaded: where all its files lie. */
  val Location = "headgate.location"
}
