package io.headgate.guard.policy

/**
 * A privilege that a statement requires: an action on a named object or on a path (`path.read`), an operation, or the use of a
 * connection.
 */
sealed trait RequiredPrivilege

final case class RequiredName(action: String, name: Seq[String]) extends RequiredPrivilege

/** An action on a table that a procedure requires when it is called for the table with these arguments. */
final case class RequiredCall(action: String, name: Seq[String], procedure: String, arguments: Seq[String]) extends RequiredPrivilege

/**
 * All that an operation needs: the access model states the actions, so only the decision service knows them. `on` are the names
 * of its resources, each with the operation's word for it, the first one first. `kind` is what it creates, deletes or changes.
 */
final case class RequiredOperation(operation: String, on: Seq[(String, Seq[String])], kind: String) extends RequiredPrivilege

final case class RequiredPath(action: String, path: String) extends RequiredPrivilege

final case class RequiredConnection(connection: String) extends RequiredPrivilege

object RequiredPrivilege {
  import Target._

  private val LakeDepth = 1
  private val DatabaseDepth = 2
  private val Table = "table"
  private val View = "view"

  def readPath(path: String): RequiredPrivilege = RequiredPath("path.read", path)

  def discover(name: Seq[String]): RequiredPrivilege = RequiredName("discover", name)

  /**
   * Return the privileges that a verb of the table of plan classes requires on a target. To create, delete or replace an object
   * is an operation, whose needs a model may restate.
   */
  def of(verb: String, target: Target): Seq[RequiredPrivilege] = (verb, target) match {
    case ("read", Relation(name)) => Seq(RequiredName("table.select", name))
    case ("insert", Relation(name)) => Seq(RequiredName("table.insert", name))
    case ("update", Relation(name)) => Seq(RequiredName("table.update", name))
    case ("delete", Relation(name)) => Seq(RequiredName("table.delete_rows", name))
    case ("overwrite", _) => of("insert", target) ++ of("delete", target)
    case ("create", Relation(name)) => Seq(creation(name, Table))
    case ("create-view", Relation(name)) => Seq(creation(name, View))
    case ("create", Namespace(name)) if name.size == DatabaseDepth => Seq(creation(name, kind(name)))
    case ("drop", Relation(name)) => Seq(deletion(name, Table))
    case ("drop", Namespace(name)) => Seq(deletion(name, kind(name)))
    case ("replace", Relation(name)) => Seq(replacement(name, Table))
    case ("replace-view", Relation(name)) => Seq(replacement(name, View))
    case ("alter", Namespace(name)) if name.size == DatabaseDepth =>
      Seq(RequiredOperation("database.change_properties", Seq("database" -> name), kind(name)))
    case ("describe" | "alter", Relation(name)) => Seq(RequiredName(s"table.$verb", name))
    case ("describe" | "alter", Namespace(name)) => Seq(RequiredName(s"${kind(name)}.$verb", name))
    case ("create", Namespace(_)) => Refusal.because("a database can be created only directly in the catalog `lake`; name it `lake.<database>`")
    case (_, Namespace(_)) => Refusal.because("the statement names a catalog or database in the place of a table or view; name a table or view as `lake.<database>.<name>`")
    case (_, Relation(_)) => Refusal.because(s"internal error: no action on a table is known for `$verb`; report it")
  }

  /** Return the operation that gives a table or view another name, perhaps in another database. */
  def rename(from: Seq[String], to: Seq[String], isView: Boolean): RequiredPrivilege =
    RequiredOperation("table.rename", Seq("table" -> from, "database" -> to.init), if (isView) View else Table)

  private def creation(name: Seq[String], kind: String): RequiredPrivilege =
    RequiredOperation("resource.create", Seq("parent" -> name.init), kind)

  private def deletion(name: Seq[String], kind: String): RequiredPrivilege =
    RequiredOperation("resource.delete", Seq("resource" -> name), kind)

  private def replacement(name: Seq[String], kind: String): RequiredPrivilege =
    RequiredOperation("table.replace", Seq("table" -> name, "database" -> name.init), kind)

  private def kind(namespace: Seq[String]): String = if (namespace.size == LakeDepth) "lake" else "database"
}
