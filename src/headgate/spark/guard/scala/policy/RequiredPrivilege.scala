package io.headgate.guard.policy

/**
 * A privilege that a statement requires: an action on a named object or on a path (`path.read`), or the use of a connection.
 */
sealed trait RequiredPrivilege

final case class RequiredName(action: String, name: Seq[String]) extends RequiredPrivilege

/** An action on a table that a procedure requires when it is called for the table with these arguments. */
final case class RequiredCall(action: String, name: Seq[String], procedure: String, arguments: Seq[String]) extends RequiredPrivilege

final case class RequiredPath(action: String, path: String) extends RequiredPrivilege

final case class RequiredConnection(connection: String) extends RequiredPrivilege

object RequiredPrivilege {
  import Target._

  private val LakeDepth = 1
  private val DatabaseDepth = 2

  def readPath(path: String): RequiredPrivilege = RequiredPath("path.read", path)

  def discover(name: Seq[String]): RequiredPrivilege = RequiredName("discover", name)

  /**
   * Return the privileges that a verb of the table of plan classes requires on a target. To create an object is an action on
   * its parent.
   */
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
    case ("create", Namespace(_)) => Refusal.because("a database can be created only directly in the catalog `lake`; name it `lake.<database>`")
    case (_, Namespace(_)) => Refusal.because("the statement names a catalog or database in the place of a table or view; name a table or view as `lake.<database>.<name>`")
    case (_, Relation(_)) => Refusal.because(s"internal error: no action on a table is known for `$verb`; report it")
  }

  private def kind(namespace: Seq[String]): String = if (namespace.size == LakeDepth) "lake" else "database"
}
