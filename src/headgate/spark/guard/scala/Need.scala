package io.headgate.guard

/** One thing that a statement needs: an action on a named object, or on a path. */
sealed trait Need

final case class ObjectNeed(action: String, name: Seq[String]) extends Need

final case class PathNeed(path: String) extends Need

object Need {
  def discover(name: Seq[String]): Need = ObjectNeed("discover", name)

  def select(table: Seq[String]): Need = ObjectNeed("table.select", table)

  /** An overwrite takes away what was there. */
  def write(table: Seq[String], overwrites: Boolean): Seq[Need] =
    ObjectNeed("table.insert", table) +: (if (overwrites) Seq(ObjectNeed("table.delete_rows", table)) else Nil)

  def describe(table: Seq[String]): Need = ObjectNeed("table.describe", table)

  def drop(table: Seq[String]): Need = ObjectNeed("table.drop", table)

  /** To make a table is an action on what will hold it. */
  def create(table: Seq[String]): Need = ObjectNeed("database.create_table", table.init)

  def describeNamespace(name: Seq[String]): Need =
    ObjectNeed(if (name.size == 1) "lake.describe" else "database.describe", name)
}
