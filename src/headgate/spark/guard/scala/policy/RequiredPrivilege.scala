package io.headgate.guard.policy

/** One thing that a statement needs: an action on a named object, or on a path (`path.read`), or a connection. */
sealed trait RequiredPrivilege

final case class RequiredName(action: String, name: Seq[String]) extends RequiredPrivilege

/** An action on a table for the work of a procedure that is called for it with these arguments. */
final case class RequiredCall(action: String, name: Seq[String], procedure: String, arguments: Seq[String]) extends RequiredPrivilege

final case class RequiredPath(action: String, path: String) extends RequiredPrivilege

final case class RequiredConnection(connection: String) extends RequiredPrivilege

object RequiredPrivilege {
  import Target._

  private val LakeDepth = 1
  private val DatabaseDepth = 2

  def readPath(path: String): RequiredPrivilege = RequiredPath("path.read", path)

  def discover(name: Seq[String]): RequiredPrivilege = RequiredName("discover", name)

  /** What a verb of the table of plan classes needs of a target. To make something is an action on what will hold it. */
  def of(verb: String, target: Target): Seq[RequiredPrivilege] = (verb, target) match {
    case ("read", Relation(name)) => Seq(RequiredName("table.select", name))
    case ("insert", Relation(name)) => Seq(RequiredName("table.insert", name))
    case ("update", Relation(name)) => Seq(RequiredName("table.update", name))
    case ("delete", Relation(name)) => Seq(RequiredName("table.delete_rows", name))
    case ("overwrite", _) => of("insert", target) ++ of("delete", target)
    case ("create", Relation(name)) => Seq(RequiredName("database.create_table", name.init))
    case ("create-view", Relation(name)) => Seq(RequiredName("database.create_view", name.init))
    case ("create", Namespace(name)) if name.size == DatabaseDepth => Seq(RequiredName("lake.create_database", name.init))
    case ("describe" | "alter" | "drop", Relation(name)) => Seq(RequiredName(s"table.$verb", name))
    case ("describe" | "alter" | "drop", Namespace(name)) => Seq(RequiredName(s"${kind(name)}.$verb", name))
    case _ => Refusal.because(s"$verb is refused for such an object")
  }

  private def kind(namespace: Seq[String]): String = if (namespace.size == LakeDepth) "lake" else "database"
}
