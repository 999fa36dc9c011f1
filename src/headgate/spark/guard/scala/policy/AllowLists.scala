package io.headgate.guard.policy

import scala.io.Source

/** The reviewed lists that stand in the resource files: what is on none of them is refused. */
object AllowLists {
  val expressions: Set[String] = of("expressions")

  /** Functions whose values may be larger than their arguments, or that may run long (see `sizes.txt`). */
  val sized: Set[String] = lines("sizes").map(_.split(":", 2)).collect { case Array("sized", names) => names }
    .flatMap(_.trim.split(" +")).toSet

  /** Functions by the name they are called by; some act while Spark analyzes, so the class comes too late. */
  val functions: Set[String] = of("functions")

  val tableFunctions: Set[String] = of("table-functions")

  /** Configuration keys that SQL may set. */
  val settings: Set[String] = of("settings")

  /** Keys of a column's metadata that Spark reads. */
  val metadataKeys: Set[String] = of("metadata-keys")

  val readOptions: OptionList = OptionList.of("read-options")

  val writeOptions: OptionList = OptionList.of("write-options")

  /** The keys alone: whether a value may be, the catalog says to every engine. */
  val tableProperties: Set[String] = lines("table-properties").map(_.takeWhile(!_.isWhitespace)).toSet

  /** What may follow USING; whichever it is, the lake makes an Iceberg table of it. */
  val tableFormats: Set[String] = of("table-formats")

  val fileFormats: Set[String] = of("file-formats")

  val fileOptions: OptionList = OptionList.of("file-options")

  val databaseOptions: OptionList = OptionList.of("database-options")

  val databaseWriteOptions: OptionList = OptionList.of("database-write-options")

  val fileWriteOptions: OptionList = OptionList.of("file-write-options")

  /** Options of a stream of files. */
  val streamOptions: OptionList = OptionList.of("file-options", "stream-options")

  /** Options of a stream of made-up rows. */
  val rateOptions: OptionList = OptionList.of("rate-options")

  /** See `Procedures`. */
  val procedures: Set[String] = of("procedures")

  /** The entries of a list; each stands on a line of its own, and what follows a `#` says why. */
  def of(name: String): Set[String] = lines(name).toSet

  def lines(name: String): Seq[String] = {
    val source = Source.fromInputStream(getClass.getResourceAsStream(s"/headgate/$name.txt"), "UTF-8")
    try source.getLines().map(_.takeWhile(_ != '#').trim).filter(_.nonEmpty).toList
    finally source.close()
  }
}
