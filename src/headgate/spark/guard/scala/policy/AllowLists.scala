package io.headgate.guard.policy

import scala.io.Source

/** Allow lists from the resource files: a name that is not on its list is refused. */
object AllowLists {
  val expressions: Set[String] = of("expressions")

  /** Functions whose results may be larger than their arguments, or that may run for long (see `sizes.txt`). */
  val sized: Set[String] = lines("sizes").map(_.split(":", 2)).collect { case Array("sized", names) => names }
    .flatMap(_.trim.split(" +")).toSet

  /** Functions by their SQL names: some act while Spark analyzes a statement, so a check of their class would come too late. */
  val functions: Set[String] = of("functions")

  val tableFunctions: Set[String] = of("table-functions")

  /** Keys of a column's metadata that Spark reads. */
  val metadataKeys: Set[String] = of("metadata-keys")

  val readOptions: OptionList = OptionList.of("read-options")

  val writeOptions: OptionList = OptionList.of("write-options")

  /** Keys of table properties, without their values: the catalog checks the values, for every engine. */
  val tableProperties: Set[String] = lines("table-properties").map(_.takeWhile(!_.isWhitespace)).toSet

  /** Formats that may follow USING; the lake creates an Iceberg table for each of them. */
  val tableFormats: Set[String] = of("table-formats")

  val fileFormats: Set[String] = of("file-formats")

  val fileOptions: OptionList = OptionList.of("file-options")

  val databaseOptions: OptionList = OptionList.of("database-options")

  val databaseWriteOptions: OptionList = OptionList.of("database-write-options")

  val fileWriteOptions: OptionList = OptionList.of("file-write-options")

  /** Options of a stream of files. */
  val streamOptions: OptionList = OptionList.of("file-options", "stream-options")

  /** Options of the `rate` source of a stream, which generates its rows. */
  val rateOptions: OptionList = OptionList.of("rate-options")

  /** Options of the `rate-micro-batch` source of a stream. */
  val rateBatchOptions: OptionList = OptionList.of("rate-batch-options")

  /** The lines of `procedures.txt`; see `Procedures`. */
  val procedures: Set[String] = of("procedures")

  /** Return the entries of a list: one on each line; the text after `#` is the reason. */
  def of(name: String): Set[String] = lines(name).toSet

  def lines(name: String): Seq[String] = {
    val source = Source.fromInputStream(getClass.getResourceAsStream(s"/headgate/$name.txt"), "UTF-8")
    try source.getLines().map(_.takeWhile(_ != '#').trim).filter(_.nonEmpty).toList
    finally source.close()
  }
}
