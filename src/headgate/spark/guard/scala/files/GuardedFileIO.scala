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
 * Access to the files of one table, and no others. The files that a table's metadata names are read, written and deleted only
 * inside the location that the catalog returned with the table, because a user may have written the metadata. The object is
 * sent with the table to the executors of its tasks.
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
    else Refusal.because("the metadata of the table names a file outside the table's location, so access to the file is refused; ask the owner of the table to remove that file from the table, or to create the table again")
}

object GuardedFileIO {
  /** The property in which the lake returns the location of all files of a table, when the table is loaded. */
  val Location = "headgate.location"
}
