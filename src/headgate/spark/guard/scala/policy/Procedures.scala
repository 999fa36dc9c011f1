package io.headgate.guard.policy

import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.UnresolvedProcedure
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, NamedArgumentExpression}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.Call
import org.apache.spark.sql.types.StringType

/** The allowed procedures, and the privileges that each requires on the table that it is called for. */
object Procedures {
  private final case class Known(verbs: Set[String], arguments: Seq[String])

  private val Namespace = "system"
  private val Never = "never"
  private val TableArgument = "table"

  /** The sign before an argument that no caller may give, and that only keeps its place among the others. */
  private val Refused = "-"

  private val known: Map[String, Known] = AllowLists.procedures.map(_.split(" +").toSeq).collect {
    case name +: verbs +: arguments if verbs != Never => name -> Known(verbs.split(',').toSet, arguments)
  }.toMap

  /** Return the privileges that a CALL requires, from the names in it. Throw `AccessDenied` if no caller may make the call. */
  def needs(call: Call, names: ObjectNames): Seq[RequiredPrivilege] = call match {
    case Call(UnresolvedProcedure(parts), arguments, _) =>
      val name = inSystem(names.full(parts))
      val given = named(name, arguments)
      requireAllowed(name, given.map(_._1)) // before the table: an argument that is refused may be in its place
      needs(name, names.full(table(name, given)), given.map(_._1))
    case _ => Nil // resolved: `GuardedProcedure` requires the privileges when the procedure runs
  }

  /**
   * Return the privileges that a procedure requires when it is called with these arguments for the table with this full name.
   */
  def needs(procedure: String, table: Seq[String], arguments: Seq[String]): Seq[RequiredPrivilege] = {
    requireAllowed(procedure, arguments)
    found(procedure).verbs.toSeq.flatMap {
      case "alter" => RequiredPrivilege.of("alter", Target.Relation(table))
      case "write" => RequiredPrivilege.of("overwrite", Target.Relation(table))
      case "read" => RequiredPrivilege.of("read", Target.Relation(table))
    }.collect { case RequiredName(action, name) => RequiredCall(action, name, procedure, arguments.sorted) }
  }

  private def inSystem(name: Seq[String]): String = name match {
    case Seq(ObjectNames.Lake, namespace, procedure) if namespace.equalsIgnoreCase(Namespace) => procedure.toLowerCase(Locale.ROOT)
    case _ => refuse(name.mkString("."))
  }

  private def found(procedure: String): Known = known.getOrElse(procedure, refuse(procedure))

  private def refuse(procedure: String): Nothing =
    Refusal.because(s"the call of the procedure `$procedure` is refused: Headgate allows only ${known.keys.toSeq.sorted.mkString(", ")} of `lake.system`; call one of them")

  private def tooMany(procedure: String, expected: Seq[String]): Nothing =
    Refusal.because(s"the procedure `$procedure` is called with too many arguments; it has only ${expected.map(_.stripPrefix(Refused)).mkString(", ")}")

  /** Return the arguments with their names. */
  private def named(procedure: String, arguments: Seq[Expression]): Seq[(String, Expression)] = {
    val expected = found(procedure).arguments
    arguments.zipWithIndex.map {
      case (NamedArgumentExpression(name, value), _) => name.toLowerCase(Locale.ROOT) -> value
      case (value, position) => expected.lift(position).getOrElse(tooMany(procedure, expected)) -> value
    }
  }

  private def requireAllowed(procedure: String, arguments: Seq[String]): Unit = {
    val allowed = found(procedure).arguments.filterNot(_.startsWith(Refused))
    arguments.find(!allowed.contains(_)).foreach { name =>
      Refusal.because(s"the argument `${name.stripPrefix(Refused)}` of the procedure `$procedure` is refused: Headgate allows only ${allowed.mkString(", ")}; remove it, and write the others with their names")
    }
  }

  /** Return the table in the argument `table`, which must be a literal: no expression is evaluated to find it. */
  private def table(procedure: String, given: Seq[(String, Expression)]): Seq[String] =
    given.collect { case (TableArgument, value) => value } match {
      case Seq(Literal(text, StringType)) if text != null => CatalystSqlParser.parseMultipartIdentifier(text.toString)
      case _ => Refusal.because(s"the procedure `$procedure` needs the argument `table` once, as a string literal; write it as `'database.table'`")
    }
}
