package io.headgate.guard.policy

/** One thing that a statement needs: an action on a named object, or on a path (`path.read`), or a connection. */
sealed trait Need

final case class ObjectNeed(action: String, name: Seq[String]) extends Need

/** An action on a table for the work of a procedure that is called for it with these arguments. */
final case class CallNeed(action: String, name: Seq[String], procedure: String, arguments: Seq[String]) extends Need

final case class PathNeed(action: String, path: String) extends Need

final case class ConnectionNeed(connection: String) extends Need

object Need {
  import Target._

  private val LakeDepth = 1
  private val DatabaseDepth = 2

  def readPath(path: String): Need = PathNeed("path.read", path)

  def discover(name: Seq[String]): Need = ObjectNeed("discover", name)

  /** What a verb of the table of plan classes needs of a target. To make something is an action on what will hold it. */
  def of(verb: String, target: Target): Seq[Need] = (verb, target) match {
    case ("read", Relation(name)) => Seq(ObjectNeed("table.select", name))
    case ("insert", Relation(name)) => Seq(ObjectNeed("table.insert", name))
    case ("update", Relation(name)) => Seq(ObjectNeed("table.update", name))
    case ("delete", Relation(name)) => Seq(ObjectNeed("table.delete_rows", name))
    case ("overwrite", _) => of("insert", target) ++ of("delete", target)
    case ("create", Relation(name)) => Seq(ObjectNeed("database.create_table", name.init))
    case ("create-view", Relation(name)) => Seq(ObjectNeed("database.create_view", name.init))
    case ("create", Namespace(name)) if name.size == DatabaseDepth => Seq(ObjectNeed("lake.create_database", name.init))
    case ("describe" | "alter" | "drop", Relation(name)) => Seq(ObjectNeed(s"table.$verb", name))
    case ("describe" | "alter" | "drop", Namespace(name)) => Seq(ObjectNeed(s"${kind(name)}.$verb", name))
    case _ => Refuse.because(s"$verb is refused for such an object")
  }

  private def kind(namespace: Seq[String]): String = if (namespace.size == LakeDepth) "lake" else "database"
}
