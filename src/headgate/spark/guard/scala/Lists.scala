package io.headgate.guard

import scala.io.Source

/** The reviewed lists that stand in the resource files: what is on none of them is refused. */
object Lists {
  /** Plan classes that an analyzed statement may consist of. */
  val plans: Set[String] = read("plans")

  /** Plan classes that may stand in a statement until it is resolved. */
  val parsedPlans: Set[String] = read("parsed-plans")

  val expressions: Set[String] = read("expressions")

  /** Functions by the name they are called by; some act while Spark analyzes, so the class comes too late. */
  val functions: Set[String] = read("functions")

  val tableFunctions: Set[String] = read("table-functions")

  /** Configuration keys that SQL may set. */
  val settings: Set[String] = read("settings")

  val readOptions: Set[String] = read("read-options")

  val writeOptions: Set[String] = read("write-options")

  val tableProperties: Set[String] = read("table-properties")

  /** What may follow USING; whichever it is, the lake makes an Iceberg table of it. */
  val tableFormats: Set[String] = read("table-formats")

  val fileFormats: Set[String] = read("file-formats")

  val fileOptions: Set[String] = read("file-options")

  /** Options of a stream of made-up rows (lower case). */
  val rateOptions: Set[String] = read("rate-options")

  /** See `Procedures`. */
  val procedures: Set[String] = read("procedures")

  /** One entry per line; what follows a `#` says why. */
  private def read(name: String): Set[String] = {
    val source = Source.fromInputStream(getClass.getResourceAsStream(s"/headgate/$name.txt"), "UTF-8")
    try source.getLines().map(_.takeWhile(_ != '#').trim).filter(_.nonEmpty).toSet
    finally source.close()
  }
}
